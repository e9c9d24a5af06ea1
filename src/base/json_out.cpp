#include "base/json_out.hpp"

#include "base/json_text.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace hapax::base {

namespace {

// Printable ASCII without quotes and backslashes needs no escapes; most text is of this kind.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

void append_text(std::string& out, std::string_view value) {
  if (is_plain(value)) {
    out.append("\"").append(value).append("\"");
  } else {
    base::append_json_quoted(out, base::escape_invalid(value));
  }
}

void begin_member(std::string& members, std::string_view key) {
  if (!members.empty()) { members += ','; }
  append_text(members, key);
  members += ':';
}

}  // namespace

std::string json_text(std::string_view value) {
  std::string out;
  append_text(out, value);
  return out;
}

JsonObject& JsonObject::raw(std::string_view key, std::string_view json) {
  begin_member(members_, key);
  members_ += json;
  return *this;
}

JsonObject& JsonObject::text(std::string_view key, std::string_view value) {
  begin_member(members_, key);
  append_text(members_, value);
  return *this;
}

JsonObject& JsonObject::text_or_null(std::string_view key, std::string_view value) {
  return value.empty() ? null(key) : text(key, value);
}

JsonObject& JsonObject::number(std::string_view key, std::int64_t value) { return raw(key, std::to_string(value)); }

JsonObject& JsonObject::number(std::string_view key, double value) {
  if (!std::isfinite(value)) { return null(key); }
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return raw(key, std::string_view(buffer.data(), static_cast<std::size_t>(end - buffer.data())));
}

JsonObject& JsonObject::boolean(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }

JsonObject& JsonObject::time(std::string_view key, std::optional<Time> value) {
  return value ? text(key, format_time(*value)) : null(key);
}

JsonObject& JsonObject::duration(std::string_view key, std::optional<Duration> value) {
  return value ? text(key, format_duration(*value)) : null(key);
}

std::string json_array(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const std::string& value : values) {
    if (text.size() > 1) { text += ','; }
    text += value;
  }
  return text + "]";
}

std::string json_text_array(const std::vector<std::string>& values) {
  std::vector<std::string> quoted;
  quoted.reserve(values.size());
  for (const std::string& value : values) { quoted.push_back(json_text(value)); }
  return json_array(quoted);
}

}  // namespace hapax::base
