// Claiming from one queue with limits or limit keys (SPEC D12, D13, P6), in a transaction that has the queue's row locked
// against other claims. The rules are model::ClaimLimits; this finds what they ask for.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/limited_queues.hpp"
#include "store/postgres/queue_ids.hpp"

#include <optional>
#include <vector>

namespace hapax::store::postgres {

struct ClaimWork {
  Connection& connection;
  QueueIds& queues;
  LimitedQueues& limited;
  LookPositions& looks;
  std::int64_t offset_us = 0;
};

// What is wanted of the queue.
struct QueueOrder {
  model::QueueRef queue;
  int limit = 1;         // at most so many
  int idle = 1;          // likewise: what could start at once
  bool suspect = false;  // one that was lost before, alone, if one may start
  bool fresh = true;     // others, if no such one was given
};

struct QueueReply {
  bool is_limited = true;  // false: the queue has no limits any more, and nothing was claimed
  std::vector<model::Claim> claims;
  bool suspects_due = false;
  std::optional<Duration> next_due;
};

// 3 round trips when something starts, 2 when the limits leave no room; 1 more with a rate for each key, and for every
// so many executions that are parked on the way. A queue whose row stays locked is passed over.
[[nodiscard]] QueueReply claim_limited(const ClaimWork& work, const model::ClaimRequest& request,
                                       const QueueOrder& order);

// Marks what runs in a queue that has limits since a moment ago (live.held): claims that were under way then did not.
[[nodiscard]] Call mark_held_call(std::int32_t queue, std::int64_t offset_us);

}  // namespace hapax::store::postgres
