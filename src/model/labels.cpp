#include "model/labels.hpp"

#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/envelope_mark.hpp"

namespace hapax::model {

namespace {

// Sealed by the encrypting store, from text that was within the limit: cut, it would be worthless.
bool is_sealed(std::string_view text, std::size_t bytes) {
  return text.starts_with(envelope_mark) && text.size() <= 2 * bytes;
}

std::string storable_head(std::string_view text, std::size_t bytes) {
  if (is_sealed(text, bytes)) { return base::escape_invalid(text); }
  return base::keep_head(base::escape_invalid(base::keep_head(text, bytes)), bytes);
}

std::string storable_tail(std::string_view text, std::size_t bytes) {
  if (is_sealed(text, bytes)) { return base::escape_invalid(text); }
  return base::keep_tail(base::escape_invalid(base::keep_tail(text, bytes)), bytes);
}

}  // namespace

std::optional<std::string> encode_labels(const Labels& labels) {
  std::string text;
  const auto member = [&text](std::string_view name) {
    text += text.empty() ? "{" : ",";
    text += base::json_quote(name) + ":";
  };
  if (!labels.tags.empty()) {
    member("tags");
    for (std::size_t index = 0; index < labels.tags.size(); ++index) {
      text += index == 0 ? "[" : ",";
      text += base::json_quote(labels.tags[index]);
    }
    text += "]";
  }
  if (!labels.metadata.empty()) {
    member("metadata");
    text += labels.metadata;
  }
  if (!labels.traceparent.empty()) {
    member("traceparent");
    text += base::json_quote(labels.traceparent);
  }
  if (!labels.actor.empty()) {
    member("actor");
    text += base::json_quote(labels.actor);
  }
  if (text.empty()) { return std::nullopt; }
  return text + "}";
}

Labels decode_labels(std::string_view text) {
  Labels labels;
  if (text.empty()) { return labels; }
  // Metadata comes back as the bytes that went in, so it is cut out rather than parsed and written again.
  for (const auto& [name, value] : base::json_members(text, "labels")) {
    if (name == "tags") {
      for (const std::string_view tag : base::json_items(value, "labels")) {
        labels.tags.push_back(base::json_string(tag, "labels"));
      }
    } else if (name == "metadata") {
      labels.metadata = value;
    } else if (name == "traceparent") {
      labels.traceparent = base::json_string(value, "labels");
    } else if (name == "actor") {
      labels.actor = base::json_string(value, "labels");
    }
  }
  return labels;
}

std::string encode_error(const ErrorInfo& error) {
  return "{\"type\":" + base::json_quote(storable_head(error.type, limits::name_bytes)) +
         ",\"message\":" + base::json_quote(storable_head(error.message, limits::error_message_bytes)) +
         ",\"detail\":" + base::json_quote(storable_tail(error.detail, limits::error_detail_bytes)) + "}";
}

ErrorInfo decode_error(std::string_view text) {
  ErrorInfo error;
  for (const auto& [name, value] : base::json_members(text, "error")) {
    std::string* const part = name == "type"      ? &error.type
                              : name == "message" ? &error.message
                              : name == "detail"  ? &error.detail
                                                  : nullptr;
    if (part != nullptr) { *part = base::json_string(value, "error"); }
  }
  return error;
}

}  // namespace hapax::model
