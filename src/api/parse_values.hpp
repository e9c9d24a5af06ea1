// Reads IDs, statuses and durations from text. Each function throws InvalidArgument that names the field and the
// expected values.
#pragma once

#include <hapax/status.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::api {

// Reads a full execution ID. A prefix is refused, because IDs made in the same second begin alike.
[[nodiscard]] Uuid parse_id(std::string_view text);
[[nodiscard]] std::vector<Uuid> parse_ids(const std::vector<std::string>& texts);

// A duration that may be absent.
[[nodiscard]] std::optional<Duration> optional_duration(const std::optional<std::string>& text, std::string_view field);

// Returns the status that `text` names.
[[nodiscard]] Status require_status(std::string_view text);

// A number that has to be in a range.
struct Range {
  int low = 0;
  int high = 0;
};
[[nodiscard]] int within(std::int64_t value, Range range, const std::string& field);

}  // namespace hapax::api
