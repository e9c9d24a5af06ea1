// How long what has ended is kept (SPEC R2).
#pragma once

#include "model/execution.hpp"

namespace hapax::model {

inline constexpr Duration task_retention = std::chrono::days(7);
inline constexpr Duration workflow_retention = std::chrono::days(30);
// What a retention of 0 leaves for those who still wait: id, fence, status and result.
inline constexpr Duration stub_retention = std::chrono::minutes(10);
// A dead letter must be seen, also in a queue that keeps nothing.
inline constexpr Duration least_failed_retention = std::chrono::days(7);

// What is kept for ever expires then.
inline constexpr Time end_of_time = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31);

struct Kept {
  Duration period{0};
  bool stub = false;  // completed under a retention of 0: without its input, and it holds no identity
  friend bool operator==(const Kept&, const Kept&) = default;
};

[[nodiscard]] Kept kept(const QueueSettings& settings, Kind kind, Status ended_as);

// When the record of what ends now expires, and whether it is a stub. `keep`, if it is given, outranks the queue.
struct Expiry {
  Time at{};
  bool stub = false;
};
[[nodiscard]] Expiry expiry(const QueueSettings& settings, Kind kind, Status ended_as, const std::optional<Keep>& keep,
                            Time now);

// Dead letters are what failed and may be retried: not guards, which are called again.
[[nodiscard]] bool is_dead_letter(Kind kind, Status ended_as);

}  // namespace hapax::model
