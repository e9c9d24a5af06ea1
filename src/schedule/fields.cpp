#include "schedule/fields.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace hapax::schedule {

namespace {

std::string shown(const nlohmann::json& value) {
  return base::echo(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string such_as(std::string_view example) { return "a text such as \"" + std::string(example) + "\""; }

}  // namespace

void refuse_value(const std::string& path, const nlohmann::json& value, const std::string& expected) {
  throw InvalidArgument(path, "is " + shown(value) + "; expected " + expected);
}

std::string text_at(const std::string& path, const nlohmann::json& value, std::string_view example) {
  if (!value.is_string()) { refuse_value(path, value, such_as(example)); }
  return value.get<std::string>();
}

Fields::Fields(const nlohmann::json& value, std::string path, std::span<const std::string_view> known,
               std::string_view example)
    : object_(value), path_(std::move(path)) {
  if (!value.is_object()) {
    refuse_value(path_.empty() ? "activity" : path_, value, "an object such as " + std::string(example));
  }
  for (const auto& [name, ignored] : value.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw InvalidArgument(this->path(base::echo(name)), "unknown key" + base::suggestion(name, known));
    }
  }
}

const nlohmann::json* Fields::find(std::string_view name) const {
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

std::string Fields::path(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

std::string Fields::required_text(std::string_view name, std::string_view example) const {
  std::optional<std::string> found = text(name, example);
  if (!found) { throw InvalidArgument(path(name), "is missing; expected " + such_as(example)); }
  return *std::move(found);
}

std::optional<std::string> Fields::text(std::string_view name, std::string_view example) const {
  const nlohmann::json* const value = find(name);
  if (value == nullptr) { return std::nullopt; }
  return text_at(path(name), *value, example);
}

std::optional<std::int64_t> Fields::integer(std::string_view name, std::int64_t least, std::int64_t most) const {
  const nlohmann::json* const value = find(name);
  if (value == nullptr) { return std::nullopt; }
  const std::string expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const bool fits = value->is_number_integer() &&
                    !(value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(most));
  if (!fits || value->get<std::int64_t>() < least || value->get<std::int64_t>() > most) { refuse(name, expected); }
  return value->get<std::int64_t>();
}

std::optional<Duration> Fields::duration(std::string_view name, Duration least, Duration most) const {
  const std::optional<std::string> text = this->text(name, "30s");
  if (!text) { return std::nullopt; }
  const Duration duration = parse_duration(*text, path(name));
  if (duration < least || duration > most) {
    refuse(name, "a duration from " + format_duration(least) + " to " + format_duration(most) + ", such as \"60s\"");
  }
  return duration;
}

std::optional<Time> Fields::time(std::string_view name) const {
  const std::optional<std::string> text = this->text(name, "2026-03-01T09:00:00Z");
  if (!text) { return std::nullopt; }
  return parse_time(*text, path(name));
}

void Fields::refuse(std::string_view name, const std::string& expected) const {
  refuse_value(path(name), *find(name), expected);
}

}  // namespace hapax::schedule
