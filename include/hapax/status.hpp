// Status: where an execution stands. The values are written to stores and never change.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hapax {

enum class Status : std::uint8_t {
  pending = 0,  // also while delayed or waiting for a retry
  running = 1,
  completed = 2,
  failed = 3,
  cancelled = 4,
  timed_out = 5,
};

[[nodiscard]] constexpr bool is_terminal(Status status) { return status >= Status::completed; }

// "pending", "running", … as the API and the command line spell them.
[[nodiscard]] std::string_view to_string(Status status);
[[nodiscard]] std::optional<Status> parse_status(std::string_view text);

}  // namespace hapax
