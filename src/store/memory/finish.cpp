#include "base/limits.hpp"
#include "base/text.hpp"
#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

namespace {

// Whether a finish of the same kind has already ended the attempt under this fence, so that this one is a repetition.
// An expired record counts as absent.
bool is_repeated(State& state, const Finish& finish, Time now) {
  const Record* const found = state.find(finish.id, now);
  return found != nullptr && found->execution.fence == finish.fence && found->left_by == finish.kind;
}

std::optional<ErrorInfo> given_error(const Finish& finish) {
  return finish.error ? std::optional(storable(*finish.error)) : std::nullopt;
}

// The error of a cancelled finish: the reason comes from cancel(), the detail from the worker.
ErrorInfo cancellation(const Record& record, const Finish& finish) {
  const std::string reason = record.cancel_reason.value_or("");
  if (finish.error && (reason.empty() || record.execution.kind == Kind::workflow)) { return storable(*finish.error); }
  ErrorInfo error = cancelled_error(reason);
  if (finish.error) { error.detail = storable(*finish.error).detail; }
  return error;
}

Ending ending_of(const Record& record, const Finish& finish) {
  switch (finish.kind) {
    case FinishKind::completed:
      return {.status = Status::completed, .result = finish.result, .ran_for = finish.ran_for, .keep = finish.keep};
    case FinishKind::failed:
      return {.status = Status::failed, .error = given_error(finish), .ran_for = finish.ran_for, .keep = finish.keep};
    case FinishKind::timed_out:
      return {.status = Status::timed_out, .error = given_error(finish), .ran_for = finish.ran_for};
    case FinishKind::cancelled:
      return {.status = Status::cancelled, .error = cancellation(record, finish), .ran_for = finish.ran_for};
    case FinishKind::continued: return {.status = Status::completed, .result = "null", .ran_for = finish.ran_for};
    case FinishKind::retry:
    case FinishKind::snoozed:
    case FinishKind::released:
    case FinishKind::waiting: break;  // reached only when the execution is to be cancelled
  }
  return {.status = Status::cancelled,
          .error = cancelled_error(record.cancel_reason.value_or("")),
          .ran_for = finish.ran_for};
}

bool goes_on(FinishKind kind) {
  return kind == FinishKind::retry || kind == FinishKind::snoozed || kind == FinishKind::released ||
         kind == FinishKind::waiting;
}

void wait_for_events(State& state, Record& record, const Turn& turn, Time now) {
  Time due = turn.wake_at.value_or(never_due);
  if (turn.wake_in) { due = std::min(due, now + *turn.wake_in); }
  if (turn.seen < static_cast<std::int64_t>(record.events.size())) { due = now; }
  Execution& execution = record.execution;
  execution.attempt -= 1;
  execution.lost = 0;
  execution.waiting = true;
  execution.stuck = base::keep_head(base::escape_invalid(turn.stuck), limits::error_message_bytes);
  state.make_pending(record, due, now);
  if (due <= now) { state.woken.push_back(execution.queue); }
}

}  // namespace

FinishVerdict finish(State& state, const Finish& finish, Time now) {
  Record* const record = state.find_running(finish.id, finish.fence);
  if (record == nullptr) { return is_repeated(state, finish, now) ? FinishVerdict::accepted : FinishVerdict::stale; }
  if (finish.turn && !append_turn(state, *record, finish.turn->entries, now)) { return FinishVerdict::stale; }
  // An execution that the turn starts may end the turn's own workflow (terminate_existing under its identity).
  if (state.find_running(finish.id, finish.fence) == nullptr) { return FinishVerdict::stale; }
  record->left_by = finish.kind;
  if (finish.kind == FinishKind::waiting) {
    wait_for_events(state, *record, *finish.turn, now);
    return FinishVerdict::accepted;
  }
  record->execution.stuck.clear();
  if (finish.kind == FinishKind::continued) { continue_run(state, *record, *finish.turn, now); }
  if (!goes_on(finish.kind) || record->to_be_cancelled()) {
    state.end(*record, ending_of(*record, finish), now);
    return FinishVerdict::accepted;
  }
  if (finish.kind == FinishKind::released) {
    state.release(*record, now);
    return FinishVerdict::accepted;
  }
  const bool snoozed = finish.kind == FinishKind::snoozed;
  state.add_attempt(*record, snoozed ? "snoozed" : "failed", given_error(finish), now - finish.ran_for, now);
  if (snoozed) { record->execution.attempt -= 1; }
  state.make_pending(*record, now + finish.delay, now);
  return FinishVerdict::accepted;
}

}  // namespace hapax::store::memory
