// Writes JSON members in the order of the calls; payloads pass through byte for byte.
#pragma once

#include <hapax/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::base {

class JsonObject {
 public:
  JsonObject& text(std::string_view key, std::string_view value);
  JsonObject& text_or_null(std::string_view key, std::string_view value);  // null when empty
  JsonObject& number(std::string_view key, std::int64_t value);
  JsonObject& number(std::string_view key, double value);
  JsonObject& boolean(std::string_view key, bool value);
  JsonObject& time(std::string_view key, std::optional<Time> value);
  JsonObject& duration(std::string_view key, std::optional<Duration> value);
  // `json` must be a JSON value.
  JsonObject& raw(std::string_view key, std::string_view json);
  JsonObject& null(std::string_view key) { return raw(key, "null"); }

  [[nodiscard]] std::string str() const { return "{" + members_ + "}"; }
  // The members without braces, each preceded by a comma.
  [[nodiscard]] std::string tail() const { return members_.empty() ? "" : "," + members_; }

 private:
  std::string members_;
};

[[nodiscard]] std::string json_text(std::string_view value);
[[nodiscard]] std::string json_array(const std::vector<std::string>& values);       // of JSON values
[[nodiscard]] std::string json_text_array(const std::vector<std::string>& values);  // of strings

}  // namespace hapax::base
