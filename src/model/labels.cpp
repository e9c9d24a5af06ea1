#include "model/labels.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/envelope_mark.hpp"

#include <algorithm>

namespace hapax::model {

namespace {

// Whether the encrypting store has sealed the text. Sealed text is not cut: the plain text was within the limit, and a
// cut envelope could not be opened.
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
  if (!labels.tracestate.empty()) {
    member("tracestate");
    text += base::json_quote(labels.tracestate);
  }
  if (!labels.actor.empty()) {
    member("actor");
    text += base::json_quote(labels.actor);
  }
  if (labels.forked_from) {
    member("forked_from");
    text += base::json_quote(labels.forked_from->to_string());
  }
  if (text.empty()) { return std::nullopt; }
  return text + "}";
}

Labels decode_labels(std::string_view text) {
  Labels labels;
  if (text.empty()) { return labels; }
  // Metadata must come back byte for byte, so it is copied out of the text, not parsed and written again.
  for (const auto& [name, value] : base::json_members(text, "labels")) {
    if (name == "tags") {
      for (const std::string_view tag : base::json_items(value, "labels")) {
        labels.tags.push_back(base::json_string(tag, "labels"));
      }
    } else if (name == "metadata") {
      labels.metadata = value;
    } else if (name == "traceparent") {
      labels.traceparent = base::json_string(value, "labels");
    } else if (name == "tracestate") {
      labels.tracestate = base::json_string(value, "labels");
    } else if (name == "actor") {
      labels.actor = base::json_string(value, "labels");
    } else if (name == "forked_from") {
      labels.forked_from = Uuid::parse(base::json_string(value, "labels"));
    }
  }
  return labels;
}

bool has_metadata(const Labels& labels, const std::vector<MetadataMatch>& wanted) {
  if (wanted.empty()) { return true; }
  if (labels.metadata.empty()) { return false; }
  const std::vector<base::JsonMember> members = base::json_members(labels.metadata, "metadata");
  return std::ranges::all_of(wanted, [&](const MetadataMatch& match) {
    const auto found = std::ranges::find(members, match.key, &base::JsonMember::name);
    if (found == members.end() || found->value.starts_with('{') || found->value.starts_with('[')) { return false; }
    return (found->value.starts_with('"') ? base::json_string(found->value, "metadata") : std::string(found->value)) ==
           match.value;
  });
}

MetadataMatch parse_metadata_match(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InvalidArgument("metadata", base::quoted(text) + " is not a filter; expected KEY=VALUE, such as customer=42");
  }
  return {.key = std::string(text.substr(0, equals)), .value = std::string(text.substr(equals + 1))};
}

void check_metadata_matches(const std::vector<MetadataMatch>& wanted) {
  if (wanted.size() > limits::tags) {
    throw InvalidArgument("metadata", "has " + std::to_string(wanted.size()) + " conditions; expected at most " +
                                          std::to_string(limits::tags));
  }
  for (const MetadataMatch& match : wanted) {
    for (const std::string* const text : {&match.key, &match.value}) {
      if (text->size() > limits::metadata_bytes || !base::is_valid_utf8(*text) ||
          text->find('\0') != std::string::npos) {
        throw InvalidArgument("metadata",
                              "has a key or value that metadata cannot have; expected UTF-8 without NUL, within " +
                                  std::to_string(limits::metadata_bytes) + " bytes");
      }
    }
  }
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
