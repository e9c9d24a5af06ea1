// Fields: reads the members of one JSON object of a definition by name. Every error names the member by its path
// ("trigger.cron", "tasks[1].queue"), the given value and the expected one, with an example. Requests and answers are read
// by base/json_view.hpp, which has no paths.
//
// Keeps a reference to the JSON, which must outlive it.
#pragma once

#include <hapax/time.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hapax::schedule {

class Fields {
 public:
  // Throws InvalidArgument when `value` is no object, and for a member that is not among the known ones.
  Fields(const nlohmann::json& value, std::string path, std::span<const std::string_view> known,
         std::string_view example);

  [[nodiscard]] const nlohmann::json* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] std::string path(std::string_view name) const;

  // `example` is a valid value, without quotes.
  [[nodiscard]] std::string required_text(std::string_view name, std::string_view example) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name, std::string_view example) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most) const;
  [[nodiscard]] std::optional<Duration> duration(std::string_view name, Duration least, Duration most) const;
  [[nodiscard]] std::optional<Time> time(std::string_view name) const;

  // Throws InvalidArgument "is VALUE; expected `expected`".
  [[noreturn]] void refuse(std::string_view name, const std::string& expected) const;

 private:
  const nlohmann::json& object_;
  std::string path_;
};

// Throws InvalidArgument "is 7; expected …" for a value at a path.
[[noreturn]] void refuse_value(const std::string& path, const nlohmann::json& value, const std::string& expected);
// The text at a path. Throws InvalidArgument if the value is no string.
[[nodiscard]] std::string text_at(const std::string& path, const nlohmann::json& value, std::string_view example);

}  // namespace hapax::schedule
