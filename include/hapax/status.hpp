// Status: the state of an execution. Stores persist these numbers; they never change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hapax {

enum class Status : std::uint8_t {
  pending = 0,  // also when delayed or waiting for a retry
  running = 1,
  completed = 2,
  failed = 3,
  cancelled = 4,
  timed_out = 5,
};

// Whether an execution of this status has ended.
[[nodiscard]] constexpr bool is_terminal(Status status) { return status >= Status::completed; }

namespace detail {
// Indexed by persisted value.
inline constexpr std::array<std::string_view, 6> status_names = {"pending", "running",   "completed",
                                                                 "failed",  "cancelled", "timed_out"};
}  // namespace detail

// The names that the API and the command line use: "pending", "running", … parse_status returns none for other text.
[[nodiscard]] constexpr std::string_view to_string(Status status) {
  const auto index = static_cast<std::size_t>(status);
  return index < detail::status_names.size() ? detail::status_names[index] : "unknown";
}
[[nodiscard]] constexpr std::optional<Status> parse_status(std::string_view text) {
  for (std::size_t index = 0; index < detail::status_names.size(); ++index) {
    if (detail::status_names[index] == text) { return static_cast<Status>(index); }
  }
  return std::nullopt;
}

}  // namespace hapax
