#include "base/limits.hpp"
#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

namespace {

// The execution's worker is lost: the execution becomes pending again, unless it was lost max_lost times.
void lose(State& state, Record& record, SweepReport& report, Time now) {
  Execution& execution = record.execution;
  state.add_attempt(record, "lost", std::nullopt, *execution.started_at, now);
  const bool cancel = record.to_be_cancelled();
  execution.lost += 1;
  const bool ends = cancel || execution.lost >= execution.max_lost;
  state.wait(record, execution.run_at, now, ends ? State::Next::stays : State::Next::may_go);
  if (cancel) {
    state.end(record, {.status = Status::cancelled, .error = cancelled_error(record.cancel_reason.value_or(""))}, now);
  } else if (execution.lost >= execution.max_lost) {
    const ErrorInfo error{.type = "WorkerLost",
                          .message = "lost with its worker " + std::to_string(execution.lost) + " times",
                          .detail = ""};
    state.end(record, {.status = Status::failed, .error = error}, now);
    close_children(state, execution, now);
    report.dead += 1;
  } else {
    report.requeued += 1;
  }
}

void sweep_sessions(State& state, int limit, SweepReport& report, Time now) {
  int budget = limit;
  for (auto next = state.sessions.begin(); next != state.sessions.end();) {
    Session& session = next->second;
    // Shortens a lease that the clock, set back, has made longer.
    session.expires_at = std::min(session.expires_at, now + session.opened.lease);
    if (session.expires_at > now) {
      ++next;
      continue;
    }
    const std::vector<Record*> running = claimed(session);
    const auto some = std::min(std::ssize(running), static_cast<std::ptrdiff_t>(budget));
    for (std::ptrdiff_t i = 0; i < some; ++i) { lose(state, *running[static_cast<std::size_t>(i)], report, now); }
    budget -= static_cast<int>(some);
    if (some < std::ssize(running)) {
      report.more = true;
      return;
    }
    state.end_session(next++);
    report.lost_sessions += 1;
  }
}

void sweep_deadlines(State& state, int limit, SweepReport& report, Time now) {
  for (int budget = limit; !state.deadlines.empty() && state.deadlines.begin()->first <= now; --budget) {
    if (budget == 0) {
      report.more = true;
      return;
    }
    Record& record = state.records.at(state.deadlines.begin()->second);
    const ErrorInfo error{.type = "DeadlineExceeded", .message = "the execution's deadline has passed", .detail = ""};
    state.end(record, {.status = Status::timed_out, .error = error}, now);
    close_children(state, record.execution, now);
    report.timed_out += 1;
  }
}

void sweep_expired(State& state, int limit, SweepReport& report, Time now) {
  for (int budget = limit; !state.expiries.empty() && state.expiries.begin()->first <= now; --budget) {
    if (budget == 0) {
      report.more = true;
      return;
    }
    state.forget(state.records.at(state.expiries.begin()->second), now);
    report.expired += 1;
  }
  // A key's rate outlives the executions that used it, until it has recovered.
  for (auto& [name, queue] : state.queues) {
    std::erase_if(queue.keys, [now](const auto& key) {
      return key.second.members.empty() && (!key.second.load.arrival || *key.second.load.arrival <= now);
    });
  }
  while (!state.audit.empty() && state.audit.front().at <= now - limits::audit_kept) { state.audit.pop_front(); }
  std::erase_if(state.identities,
                [now](const auto& held) { return held.second.hold_until && *held.second.hold_until <= now; });
  std::erase_if(state.buried_in, [&state](const auto& buried) {
    const auto held = state.identities.find(buried.first);
    return held == state.identities.end() || !held->second.hold_until;
  });
  std::erase_if(state.names, [&state](const auto& named) { return !state.identities.contains(named.second); });
}

}  // namespace

SweepReport sweep(State& state, const SweepRequest& request, Time now) {
  SweepReport report;
  sweep_sessions(state, request.limit, report, now);
  sweep_deadlines(state, request.limit, report, now);
  if (request.retention) { sweep_expired(state, request.limit, report, now); }
  return report;
}

}  // namespace hapax::store::memory
