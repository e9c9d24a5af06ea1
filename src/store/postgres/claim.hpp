// Claiming from queues without limits on one connection: two statements of a pipeline, and how to read their results.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/queue_table.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hapax::store::postgres {

// Makes due delayed executions ready. Costs one index probe per queue when nothing is due.
[[nodiscard]] Call promote_call(const model::ClaimRequest& request, std::int64_t offset_us);
[[nodiscard]] Call claim_call(const model::ClaimRequest& request, std::int64_t offset_us);

struct GroupReply {
  model::ClaimReply reply;
  std::vector<model::QueueRef> limited;  // passed over because they have limits
};
[[nodiscard]] GroupReply read_claims(const Result& result, const model::ClaimRequest& request, Connection& connection,
                                     QueueIds& queues);
// The rows that a session holds under a claim number: the answer to a claim whose own answer was lost.
[[nodiscard]] model::ClaimReply read_back_claims(Connection& connection, const model::ClaimRequest& request,
                                                 QueueIds& queues, std::int64_t offset_us);

// LimitedQueues: the queues that have limits or limit keys, as far as this process has noticed. Any thread may use it.
//
// The set is only a hint that saves a look-up: a claim that passes over a queue with limits reports it, and a claim
// that finds a remembered queue without limits removes it.
class LimitedQueues {
 public:
  void add(const model::QueueRef& queue) {
    const std::lock_guard lock(mutex_);
    queues_.insert(queue);
  }
  void remove(const model::QueueRef& queue) {
    const std::lock_guard lock(mutex_);
    queues_.erase(queue);
  }
  [[nodiscard]] bool contains(const model::QueueRef& queue) const {
    const std::lock_guard lock(mutex_);
    return queues_.contains(queue);
  }
  [[nodiscard]] bool contains_any(const std::vector<model::QueueRef>& queues) const {
    const std::lock_guard lock(mutex_);
    return !queues_.empty() &&
           std::any_of(queues.begin(), queues.end(), [&](const auto& queue) { return queues_.contains(queue); });
  }

 private:
  mutable std::mutex mutex_;
  std::set<model::QueueRef> queues_;
};

// LookPositions: where the last search for parked keys of a queue ended, so that the next one continues there. Any
// thread may use it.
class LookPositions {
 public:
  // (queue, limit key). The search over all queues is stored under queue 0.
  using Place = std::pair<std::int32_t, std::string>;

  [[nodiscard]] Place get(std::int32_t look) const {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(look);
    return found == places_.end() ? Place(look, "") : found->second;
  }
  void set(std::int32_t look, const Place& place) {
    const std::lock_guard lock(mutex_);
    places_.insert_or_assign(look, place);
  }
  void begin_anew(std::int32_t look) {
    const std::lock_guard lock(mutex_);
    places_.erase(look);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::int32_t, Place> places_;
};

// Claiming from one queue with limits or limit keys, in a transaction that locks the queue's row against other claims.
// The rules are model::ClaimLimits; this file finds the rows and counts that the rules ask for.
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

// A claim over queues of which some have limits: each queue with limits is claimed on its own, neighbouring queues
// without limits together, in the request's order.

// Round trips: 1 for each group of neighbouring queues without limits, and those of claim_limited() for each queue with
// limits. When a session that may run a suspect claims from several groups, 1 more comes first, to find suspects
// (executions that were lost before) in any queue, as they go first. Each part is a transaction of its own: what the
// earlier parts claimed stays the session's also when a later one fails.
[[nodiscard]] model::ClaimReply claim_in_groups(const ClaimWork& work, const model::ClaimRequest& request);

}  // namespace hapax::store::postgres
