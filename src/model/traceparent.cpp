#include "model/traceparent.hpp"

#include "base/limits.hpp"

#include <algorithm>

namespace hapax::model {

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
