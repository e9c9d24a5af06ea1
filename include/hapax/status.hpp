// Status: the state of an execution. Stores persist these numbers; they never change.
#pragma once

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

// The names that the API and the command line use: "pending", "running", … parse_status returns none for other text.
[[nodiscard]] std::string_view to_string(Status status);
[[nodiscard]] std::optional<Status> parse_status(std::string_view text);

}  // namespace hapax
