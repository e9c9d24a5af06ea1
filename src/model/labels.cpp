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

namespace {

constexpr std::size_t traceparent_length = 55;  // version 00: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01

bool is_lower_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

// Whether the lowest bit of the last hex digit is set.
bool is_sampled(std::string_view flags) {
  const char digit = flags.back();
  return ((digit <= '9' ? digit - '0' : digit - 'a' + 10) & 1) != 0;
}

constexpr std::size_t tracestate_members = 32;

std::string_view trimmed_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) { return {}; }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// vendor=value or tenant@vendor=value.
bool is_tracestate_member(std::string_view member) {
  const std::size_t equals = member.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == member.size()) { return false; }
  const std::string_view key = member.substr(0, equals);
  const auto is_key_character = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("_-*/@").find(c) != std::string_view::npos;
  };
  const auto is_alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const std::string_view value = member.substr(equals + 1);
  return is_alphanumeric(key.front()) && std::ranges::all_of(key, is_key_character) &&
         std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

}  // namespace

std::string accepted_traceparent(std::string_view text) {
  if (text.size() < traceparent_length || text[2] != '-' || text[35] != '-' || text[52] != '-') { return {}; }
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(3, 32);
  const std::string_view parent = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  const bool is_valid = is_lower_hex(version) && version != "ff" && is_lower_hex(trace) && !is_zero(trace) &&
                        is_lower_hex(parent) && !is_zero(parent) && is_lower_hex(flags);
  if (!is_valid || (text.size() > traceparent_length && (version == "00" || text[traceparent_length] != '-'))) {
    return {};
  }
  if (version == "00") { return std::string(text); }
  return "00" + std::string(text.substr(2, 51)) + (is_sampled(flags) ? "01" : "00");
}

std::string accepted_tracestate(std::string_view text) {
  text = trimmed_blanks(text);
  if (text.empty() || text.size() > limits::tracestate_bytes) { return {}; }
  std::size_t members = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view member = trimmed_blanks(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    if (member.empty()) { continue; }  // W3C allows empty members
    if (!is_tracestate_member(member) || ++members > tracestate_members) { return {}; }
  }
  return members == 0 ? std::string() : std::string(text);
}

void set_trace(Labels& labels, std::string_view traceparent, std::string_view tracestate) {
  labels.traceparent = accepted_traceparent(traceparent);
  labels.tracestate = labels.traceparent.empty() ? std::string() : accepted_tracestate(tracestate);
}

}  // namespace hapax::model
