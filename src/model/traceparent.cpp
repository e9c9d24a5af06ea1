#include "model/traceparent.hpp"

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

}  // namespace hapax::model
