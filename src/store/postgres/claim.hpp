// Claims on one connection: from queues without limits by two statements of a pipeline, from queues with limits one by
// one.
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

// Makes delayed executions that are due ready. One index probe per queue when none is due.
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

// LimitedQueues: the queues that, as far as this process knows, have limits or limit keys. Any thread may use it.
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

// ParkedScanPositions: where the last scan of a queue's parked keys ended and the next one continues. Any thread may
// use it.
class ParkedScanPositions {
 public:
  // (queue, limit key). The scan over all queues is stored under queue 0.
  using Place = std::pair<std::int32_t, std::string>;

  [[nodiscard]] Place get(std::int32_t queue) const {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(queue);
    return found == places_.end() ? Place(queue, "") : found->second;
  }
  void set(std::int32_t queue, const Place& place) {
    const std::lock_guard lock(mutex_);
    places_.insert_or_assign(queue, place);
  }
  void begin_anew(std::int32_t queue) {
    const std::lock_guard lock(mutex_);
    places_.erase(queue);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::int32_t, Place> places_;
};

struct ClaimWork {
  Connection& connection;
  QueueIds& queues;
  LimitedQueues& limited;
  ParkedScanPositions& looks;
  std::int64_t offset_us = 0;
};

// The part of a claim request that concerns one queue.
struct QueueClaim {
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

// Claims from one queue with limits or limit keys, by the rules of model::ClaimLimits, in a transaction that locks the
// queue's row against other claims. Passes over a queue whose row stays locked. 3 round trips when an execution starts,
// 2 when the limits leave no room; 1 more with a rate per limit key, and 1 for each further batch of candidates when
// some are parked.
[[nodiscard]] QueueReply claim_limited(const ClaimWork& work, const model::ClaimRequest& request,
                                       const QueueClaim& order);

// Marks executions that run in a queue which got limits less than a minute ago (live.held): claims that were in
// progress then did not mark them.
[[nodiscard]] Call mark_held_call(std::int32_t queue, std::int64_t offset_us);

// Claims from queues of which some have limits, in the request's order: from each queue with limits alone, from
// neighbouring queues without limits together. Each part is a transaction of its own, so that the claims of the earlier
// parts stay the session's even if a later part fails.
//
// Round trips: 1 for each group of queues without limits, and those of claim_limited() for each queue with limits. If
// the session may run a suspect (an execution that was lost before) and there are several groups, 1 more comes first:
// suspects of any queue are claimed before other executions.
[[nodiscard]] model::ClaimReply claim_in_groups(const ClaimWork& work, const model::ClaimRequest& request);

}  // namespace hapax::store::postgres
