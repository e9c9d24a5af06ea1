#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

namespace {

// Makes an execution whose worker was lost pending again, or ends it if it was lost max_lost times.
void requeue_lost(State& state, Record& record, SweepReport& report, Time now) {
  Execution& execution = record.execution;
  state.add_attempt(record, "lost", std::nullopt, *execution.started_at, now);
  const bool cancel = record.to_be_cancelled();
  execution.lost += 1;
  const bool ends = cancel || execution.lost >= execution.max_lost;
  state.make_pending(record, execution.run_at, now, ends ? State::Unpark::no : State::Unpark::yes);
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
    // A lease that ends too far ahead, because the clock was set back, is shortened.
    session.expires_at = std::min(session.expires_at, now + session.opened.lease);
    if (session.expires_at > now) {
      ++next;
      continue;
    }
    const std::vector<Record*> running = claimed_by(session);
    const auto some = std::min(std::ssize(running), static_cast<std::ptrdiff_t>(budget));
    for (std::ptrdiff_t i = 0; i < some; ++i) {
      requeue_lost(state, *running[static_cast<std::size_t>(i)], report, now);
    }
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

}  // namespace

SweepReport sweep(State& state, const SweepRequest& request, Time now) {
  SweepReport report;
  sweep_sessions(state, request.limit, report, now);
  sweep_deadlines(state, request.limit, report, now);
  if (request.retention) { sweep_expired(state, request.limit, report, now); }
  return report;
}

}  // namespace hapax::store::memory
