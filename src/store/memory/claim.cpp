#include "base/limits.hpp"
#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

namespace {

using ClaimOrder = std::map<ReadyKey, Record*>;

bool may_claim(const Execution& execution, const ClaimRequest& request, Time now) {
  if (execution.deadline && *execution.deadline <= now) { return false; }
  // Workflows are claimed only by name: not every worker can run them.
  if (request.tasks.empty()) { return execution.kind != Kind::workflow; }
  return std::find(request.tasks.begin(), request.tasks.end(), execution.task) != request.tasks.end();
}

// The first execution that the request may claim. The search passes over executions of other tasks, and over those
// whose deadline has passed, which the sweep ends.
ClaimOrder::iterator first_claimable(ClaimOrder& order, ClaimOrder::iterator from, const ClaimRequest& request,
                                     Time now) {
  return std::find_if(from, order.end(),
                      [&](const auto& entry) { return may_claim(entry.second->execution, request, now); });
}

Claim make_claim(const Record& record, Time now) {
  const Execution& execution = record.execution;
  Claim claim;
  claim.id = execution.id;
  claim.queue = execution.queue;
  claim.task = execution.task;
  claim.kind = execution.kind;
  claim.input = execution.input;
  claim.attempt = execution.attempt;
  claim.max_attempts = execution.max_attempts;
  claim.lost = execution.lost;
  claim.max_lost = execution.max_lost;
  claim.fence = execution.fence;
  claim.priority = execution.priority;
  claim.run = execution.run;
  claim.created_at = execution.created_at;
  claim.due_at = execution.run_at;
  claim.claimed_at = now;
  claim.deadline = execution.deadline;
  if (execution.deadline) { claim.deadline_in = *execution.deadline - now; }
  claim.attempt_timeout = execution.attempt_timeout;
  claim.retry = execution.retry;
  claim.identity = execution.identity;
  claim.effect_key = record.stored_effect_key;
  claim.parent = execution.parent;
  claim.labels = execution.labels;
  claim.limit_key = execution.limit_key;
  claim.inbox = static_cast<std::int64_t>(record.events.size());
  return claim;
}

// The request's queues that exist and are not paused, in the request's order. Delayed executions that are due are made
// ready.
std::vector<Queue*> open_queues(State& state, const ClaimRequest& request, Time now) {
  std::vector<Queue*> open;
  for (const QueueRef& name : request.queues) {
    const auto queue = state.queues.find(name);
    if (queue != state.queues.end() && !queue->second.settings.paused) {
      state.promote(queue->second, now);
      open.push_back(&queue->second);
    }
  }
  return open;
}

// Makes the reply to one claim request: takes executions from the queues in the request's order.
class ClaimBuilder {
 public:
  ClaimBuilder(State& state, const ClaimRequest& request, Session& session, Time now)
      : state_(state), request_(request), session_(session), now_(now), idle_(request.idle) {
    for (Queue* const queue : open_queues(state, request, now)) {
      if (queue->limited()) { unpark_allowed(*queue); }
      queues_.push_back(queue);
    }
  }

  ClaimReply run() {
    if (request_.alone) {
      for (Queue* const queue : queues_) {
        if (take(*queue, queue->suspects, 1) > 0) { return std::move(reply_); }
      }
    } else {
      reply_.suspects_due =
          std::any_of(queues_.begin(), queues_.end(), [&](Queue* queue) { return suspects_in(*queue); });
    }
    for (Queue* const queue : queues_) {
      take(*queue, queue->ready, static_cast<std::size_t>(request_.limit) - reply_.claims.size());
    }
    if (reply_.claims.size() < static_cast<std::size_t>(request_.limit)) {
      reply_.next_due = is_heavy() ? Duration{0} : next_due();
    }
    return std::move(reply_);
  }

 private:
  // Whether the reply has reached its byte limit; the rest is left to the next claim.
  [[nodiscard]] bool is_heavy() const { return bytes_ >= limits::claim_bytes; }

  // For a queue with a rate per key: returns parked executions of the keys whose rate allows a start now.
  void unpark_allowed(Queue& queue) {
    if (!queue.settings.limits.key_rate) { return; }
    for (const auto& [name, key] : queue.keys) {
      state_.unpark(queue, name, now_, heaviest_start(queue.settings.limits, key.load, now_));
    }
  }

  ClaimLimits limits_of(const Queue& queue) const {
    std::int64_t here = 0;
    for (const auto& [id, record] : session_.running) {
      here += &state_.queues[record->execution.queue] == &queue ? 1 : 0;
    }
    return {
        queue.settings.limits, {.running = queue.running, .running_here = here, .arrival = queue.arrival}, idle_, now_};
  }

  bool suspects_in(Queue& queue) {
    if (queue.limited() && !limits_of(queue).open()) { return false; }
    return first_claimable(queue.suspects, queue.suspects.begin(), request_, now_) != queue.suspects.end();
  }

  // Starts up to `most` executions in claim order; returns how many.
  std::size_t take(Queue& queue, ClaimOrder& order, std::size_t most) {
    std::optional<ClaimLimits> limits;
    if (queue.limited()) { limits.emplace(limits_of(queue)); }
    std::size_t taken = 0;
    auto next = order.begin();
    while (taken < most && !is_heavy()) {
      next = first_claimable(order, next, request_, now_);
      if (next == order.end()) { break; }
      Record& record = *next->second;
      ++next;
      if (limits) {
        const std::optional<Keyed> key = state_.keyed(record);
        const ClaimLimits::Step step = limits->offer(record.execution.weight, key ? &*key : nullptr);
        if (step == ClaimLimits::Step::stop) { break; }
        if (step == ClaimLimits::Step::park) {
          state_.park(record);
          continue;
        }
        idle_ -= 1;
      }
      state_.start(record, session_, request_.claim_number, now_);
      reply_.claims.push_back(make_claim(record, now_));
      bytes_ += reply_.claims.back().input.size();
      reply_.claims.back().limited = limits.has_value();
      taken += 1;
    }
    if (limits) {
      if (limits->arrival()) { queue.arrival = limits->arrival(); }
      wait_at_most(limits->wait());
    }
    return taken;
  }

  void wait_at_most(const std::optional<Duration>& wait) {
    if (wait) { wait_ = wait_ ? std::min(*wait_, *wait) : *wait; }
  }

  std::optional<Duration> next_due() {
    for (const Queue* const queue : queues_) {
      if (!queue->delayed.empty()) { wait_at_most(queue->delayed.begin()->first.first - now_); }
      for (const auto& [name, key] : queue->keys) {
        const std::vector<Record*> next = state_.next_parked(name, key);
        if (next.empty()) { continue; }
        wait_at_most(key_wait(queue->settings.limits, key.load, next.front()->execution.weight, now_));
      }
    }
    return wait_;
  }

  State& state_;
  const ClaimRequest& request_;
  Session& session_;
  const Time now_;
  int idle_;
  std::vector<Queue*> queues_;
  std::optional<Duration> wait_;
  std::size_t bytes_ = 0;  // of the inputs in the reply
  ClaimReply reply_;
};

}  // namespace

ClaimReply claim(State& state, const ClaimRequest& request, Time now) {
  const auto session = state.sessions.find(request.session);
  if (session == state.sessions.end() || request.limit <= 0) { return {}; }
  if (!request.by_holdings) { return ClaimBuilder(state, request, session->second, now).run(); }
  ClaimRequest known = request;
  known.alone = session->second.running.empty();
  const bool runs_suspect = std::any_of(session->second.running.begin(), session->second.running.end(),
                                        [](const auto& entry) { return entry.second->execution.lost > 0; });
  if (runs_suspect) { return {.claims = {}, .suspects_due = true, .next_due = {}}; }
  return ClaimBuilder(state, known, session->second, now).run();
}

}  // namespace hapax::store::memory
