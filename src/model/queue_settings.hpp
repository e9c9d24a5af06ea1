// The settings of a queue: limits, retention, paused or draining.
#pragma once

#include <hapax/policy.hpp>
#include <hapax/time.hpp>

#include <optional>
#include <string>

namespace hapax::model {

// Limits on a queue's claims. A queue with no limits and no executions with limit keys pays nothing for them.
struct QueueLimits {
  std::optional<RateLimit> rate;          // starts, over all workers
  std::optional<RateLimit> key_rate;      // starts of one limit key
  std::optional<int> concurrency;         // running at once, over all workers
  std::optional<int> worker_concurrency;  // running at once in one session
  std::optional<int> key_concurrency;     // running at once of one unordered limit key; none: 1
  friend bool operator==(const QueueLimits&, const QueueLimits&) = default;
};

struct QueueSettings {
  bool paused = false;
  bool draining = false;
  std::optional<Duration> retention;         // none: 7 d for tasks, 30 d for workflows (model/retention.hpp)
  std::optional<Duration> failed_retention;  // none: as retention, or 7 d when retention is 0
  std::optional<Duration> dedup_window;      // identities are held at least this long after the execution's end
  QueueLimits limits;
};

// A change of settings. Members that are not set stay as they are; an inner std::nullopt removes the setting.
struct QueuePatch {
  std::optional<bool> paused;
  std::optional<bool> draining;
  std::optional<std::optional<Duration>> retention;
  std::optional<std::optional<Duration>> failed_retention;
  std::optional<std::optional<Duration>> dedup_window;
  std::optional<std::optional<RateLimit>> rate;
  std::optional<std::optional<RateLimit>> key_rate;
  std::optional<std::optional<int>> concurrency;
  std::optional<std::optional<int>> worker_concurrency;
  std::optional<std::optional<int>> key_concurrency;
  std::string actor;  // for the audit; empty: the change is not audited
};

}  // namespace hapax::model
