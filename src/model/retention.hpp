// Retention: how long ended executions are kept.
#pragma once

#include "model/execution.hpp"

#include <string_view>

namespace hapax::model {

inline constexpr Duration task_retention = std::chrono::days(7);
inline constexpr Duration workflow_retention = std::chrono::days(30);
// Under a retention of 0 a stub (id, fence, status and result) stays this long for callers that still wait.
inline constexpr Duration stub_retention = std::chrono::minutes(10);
// A queue with retention 0 keeps failures this long, so that operators see its dead letters.
inline constexpr Duration failed_retention_min = std::chrono::days(7);

// How often expired records are deleted, unless the namespace's setting of this name says otherwise.
inline constexpr std::string_view cleanup_interval_setting = "cleanup.interval";
inline constexpr Duration default_cleanup_interval = std::chrono::hours(1);

// The expiry of records that are kept for ever.
inline constexpr Time end_of_time = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31);

struct Kept {
  Duration period{0};
  bool stub = false;  // completed under a retention of 0: the input is deleted and the identity released
  friend bool operator==(const Kept&, const Kept&) = default;
};

[[nodiscard]] inline Kept kept(const QueueSettings& settings, Kind kind, Status ended_as) {
  const Duration by_kind = kind == Kind::workflow ? workflow_retention : task_retention;
  const Duration retention = settings.retention.value_or(by_kind);
  if (ended_as == Status::completed) {
    return retention == Duration{0} ? Kept{.period = stub_retention, .stub = true} : Kept{.period = retention};
  }
  const Duration failed =
      settings.failed_retention.value_or(retention == Duration{0} ? failed_retention_min : retention);
  return {.period = failed == Duration{0} ? stub_retention : failed};
}

// When the record of an execution that ends now expires, and whether it is a stub. `keep`, if given, overrides the
// queue.
struct Expiry {
  Time at{};
  bool stub = false;
};
[[nodiscard]] inline Expiry expiry(const QueueSettings& settings, Kind kind, Status ended_as,
                                   const std::optional<Keep>& keep, Time now) {
  if (!keep) {
    const Kept by_queue = kept(settings, kind, ended_as);
    return {.at = now + by_queue.period, .stub = by_queue.stub};
  }
  const bool for_ever = !keep->period || *keep->period >= end_of_time - now;
  return {.at = for_ever ? end_of_time : now + *keep->period, .stub = !keep->holds_identity};
}

// A dead letter is a failed execution that may be retried. A guard is none: its caller calls again.
[[nodiscard]] inline bool is_dead_letter(Kind kind, Status ended_as) {
  return ended_as == Status::failed && kind != Kind::guard;
}

}  // namespace hapax::model
