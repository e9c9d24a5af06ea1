// Claiming from one queue with limits or limit keys, in a transaction that locks the queue's row against other claims.
// The rules are model::ClaimLimits; this file finds the rows and counts that the rules ask for.
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

// The part of a claim request that concerns one queue.
struct QueueOrder {
  model::QueueRef queue;
  int limit = 1;         // executions at most
  int idle = 1;          // executions that the session can start at once
  bool suspect = false;  // claim a suspect (an execution that was lost before), alone, if one may start
  bool fresh = true;     // claim others, if no suspect was claimed
};

struct QueueReply {
  bool is_limited = true;  // false: the queue no longer has limits, and nothing was claimed
  std::vector<model::Claim> claims;
  bool suspects_due = false;
  std::optional<Duration> next_due;
};

// 3 round trips when something starts, 2 when the limits leave no room; 1 more with a rate per limit key, and 1 for
// each further batch of candidates when some are parked. Passes over a queue whose row stays locked.
[[nodiscard]] QueueReply claim_limited(const ClaimWork& work, const model::ClaimRequest& request,
                                       const QueueOrder& order);

// Marks executions that run in a queue which got limits less than a minute ago (live.held): claims that were in
// progress then did not mark them.
[[nodiscard]] Call mark_held_call(std::int32_t queue, std::int64_t offset_us);

}  // namespace hapax::store::postgres
