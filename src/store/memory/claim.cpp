#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

namespace {

using Line = std::map<ReadyKey, Record*>;

bool may_claim(const Execution& execution, const ClaimRequest& request, Time now) {
  if (execution.deadline && *execution.deadline <= now) { return false; }
  return request.tasks.empty() ||
         std::find(request.tasks.begin(), request.tasks.end(), execution.task) != request.tasks.end();
}

// The first of a line that the request may have. Those it passes over (other tasks, passed deadlines that await the
// sweep) are the only cost beyond what it takes.
Line::iterator first_claimable(Line& line, Line::iterator from, const ClaimRequest& request, Time now) {
  return std::find_if(from, line.end(),
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
  claim.claimed_at = now;
  claim.deadline = execution.deadline;
  if (execution.deadline) { claim.deadline_in = *execution.deadline - now; }
  claim.attempt_timeout = execution.attempt_timeout;
  claim.retry = execution.retry;
  claim.identity = execution.identity;
  claim.effect_key = record.stored_effect_key;
  claim.parent = execution.parent;
  claim.labels = execution.labels;
  return claim;
}

// The request's queues that are there and not paused, in its order, with what has come due made ready.
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

Record* find_suspect(const std::vector<Queue*>& queues, const ClaimRequest& request, Time now) {
  for (Queue* const queue : queues) {
    const auto found = first_claimable(queue->suspects, queue->suspects.begin(), request, now);
    if (found != queue->suspects.end()) { return found->second; }
  }
  return nullptr;
}

std::optional<Duration> next_due(const std::vector<Queue*>& queues, Time now) {
  std::optional<Duration> soonest;
  for (const Queue* const queue : queues) {
    if (!queue->delayed.empty()) {
      const Duration in = queue->delayed.begin()->first.first - now;
      soonest = soonest ? std::min(*soonest, in) : in;
    }
  }
  return soonest;
}

}  // namespace

ClaimReply claim(State& state, const ClaimRequest& request, Time now) {
  ClaimReply reply;
  const auto session = state.sessions.find(request.session);
  if (session == state.sessions.end() || request.limit <= 0) { return reply; }
  const std::vector<Queue*> queues = open_queues(state, request, now);
  if (Record* const suspect = find_suspect(queues, request, now)) {
    if (request.alone) {
      state.start(*suspect, session->second, request.claim_number, now);
      reply.claims.push_back(make_claim(*suspect, now));
      return reply;
    }
    reply.suspects_due = true;
  }
  const auto limit = static_cast<std::size_t>(request.limit);
  for (Queue* const queue : queues) {
    auto next = queue->ready.begin();
    while (reply.claims.size() < limit) {
      next = first_claimable(queue->ready, next, request, now);
      if (next == queue->ready.end()) { break; }
      Record& record = *next->second;
      ++next;
      state.start(record, session->second, request.claim_number, now);
      reply.claims.push_back(make_claim(record, now));
    }
  }
  if (reply.claims.size() < limit) { reply.next_due = next_due(queues, now); }
  return reply;
}

}  // namespace hapax::store::memory
