#include "wire/json_out.hpp"

#include "base/json.hpp"
#include "base/text.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace hapax::wire {

std::string json_text(std::string_view value) { return base::json_quote(base::escape_invalid(value)); }

JsonObject& JsonObject::raw(std::string_view key, std::string_view json) {
  if (!members_.empty()) { members_ += ','; }
  members_ += json_text(key);
  members_ += ':';
  members_ += json;
  return *this;
}

JsonObject& JsonObject::text(std::string_view key, std::string_view value) { return raw(key, json_text(value)); }

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

}  // namespace hapax::wire
