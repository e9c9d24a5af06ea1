#include "api/parse_values.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

namespace hapax::api {

Uuid parse_id(std::string_view text) {
  if (const std::optional<Uuid> id = Uuid::parse(text)) { return *id; }
  throw InvalidArgument("id", base::quoted(text) +
                                  " is not an execution id; expected all of one, such as "
                                  "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f");
}

std::vector<Uuid> parse_ids(const std::vector<std::string>& texts) {
  std::vector<Uuid> ids;
  ids.reserve(texts.size());
  for (const std::string& text : texts) { ids.push_back(parse_id(text)); }
  return ids;
}

std::optional<Duration> optional_duration(const std::optional<std::string>& text, std::string_view field) {
  if (!text) { return std::nullopt; }
  return parse_duration(*text, field);
}

Status require_status(std::string_view text) {
  if (const std::optional<Status> status = parse_status(text)) { return *status; }
  throw InvalidArgument(
      "status",
      base::quoted(text) + " is not a status; expected pending, running, completed, failed, cancelled or timed_out");
}

int within(std::int64_t value, Range range, const std::string& field) {
  if (value < range.low || value > range.high) {
    throw InvalidArgument(field, std::to_string(value) + " is out of range; expected " + std::to_string(range.low) +
                                     " to " + std::to_string(range.high));
  }
  return static_cast<int>(value);
}

}  // namespace hapax::api
