#include "store/memory/verbs.hpp"

namespace hapax::store::memory {

namespace {

// A finish whose effect is already there: the execution left this very fence by a finish of the same kind.
bool is_repeated(const State& state, const Finish& finish) {
  const auto found = state.records.find(finish.id);
  return found != state.records.end() && found->second.execution.fence == finish.fence &&
         found->second.left_by == finish.kind;
}

std::optional<ErrorInfo> given_error(const Finish& finish) {
  return finish.error ? std::optional(storable(*finish.error)) : std::nullopt;
}

Ending ending_of(const Record& record, const Finish& finish) {
  switch (finish.kind) {
    case FinishKind::completed:
      return {.status = Status::completed, .result = finish.result, .ran_for = finish.ran_for};
    case FinishKind::failed: return {.status = Status::failed, .error = given_error(finish), .ran_for = finish.ran_for};
    case FinishKind::timed_out:
      return {.status = Status::timed_out, .error = given_error(finish), .ran_for = finish.ran_for};
    case FinishKind::cancelled:
      return {.status = Status::cancelled,
              .error = finish.error ? storable(*finish.error) : cancelled_error(record.cancel_reason.value_or("")),
              .ran_for = finish.ran_for};
    case FinishKind::retry:
    case FinishKind::snoozed:
    case FinishKind::released: break;  // only with a cancellation asked for
  }
  return {.status = Status::cancelled,
          .error = cancelled_error(record.cancel_reason.value_or("")),
          .ran_for = finish.ran_for};
}

bool goes_on(FinishKind kind) {
  return kind == FinishKind::retry || kind == FinishKind::snoozed || kind == FinishKind::released;
}

}  // namespace

FinishVerdict finish(State& state, const Finish& finish, Time now) {
  Record* const record = state.find_running(finish.id, finish.fence);
  if (record == nullptr) { return is_repeated(state, finish) ? FinishVerdict::accepted : FinishVerdict::stale; }
  record->left_by = finish.kind;
  if (!goes_on(finish.kind) || record->execution.cancel_requested) {
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
  state.wait(*record, now + finish.delay, now);
  return FinishVerdict::accepted;
}

}  // namespace hapax::store::memory
