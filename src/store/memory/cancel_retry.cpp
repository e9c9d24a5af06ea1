#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/effect_key.hpp"
#include "model/parent_close.hpp"
#include "store/memory/verbs.hpp"

namespace hapax::store::memory {

namespace {

// The fields that a new run takes over from the old run; all others start anew.
Record next_run(const Record& old, const RetryRequest& request, Time now) {
  const Execution& before = old.execution;
  Record record;
  Execution& execution = record.execution;
  execution.id = request.new_id;
  execution.queue = before.queue;
  execution.task = before.task;
  execution.kind = before.kind;
  execution.input = before.input;
  execution.priority = before.priority;
  execution.run = before.run + 1;
  execution.max_attempts = before.max_attempts;
  execution.max_lost = before.max_lost;
  execution.created_at = now;
  execution.run_at = now;
  if (before.deadline) { execution.deadline = now + (*before.deadline - before.created_at); }
  execution.attempt_timeout = before.attempt_timeout;
  execution.retry = before.retry;
  execution.identity = before.identity;
  execution.identity_key = before.identity_key;
  execution.parent = before.parent;
  execution.labels = before.labels;
  execution.limit_key = before.limit_key;
  execution.weight = before.weight;
  record.stored_effect_key =
      request.new_effect_key ? effect_key(std::nullopt, std::nullopt, request.new_id) : before.effect_key;
  return record;
}

}  // namespace

CancelResult cancel(State& state, const Uuid& id, const CancelCause& cause, Time now) {
  Record* const record = state.find(id, now);
  if (record == nullptr) { return {}; }
  Execution& execution = record->execution;
  const std::string_view reason = cause.reason;
  if (is_terminal(execution.status)) { return {.verdict = CancelVerdict::finished, .status = execution.status}; }
  state.write_act(cause.by, "execution.cancel", execution, reason, now);
  // A workflow that has begun ends by itself, so that it can run its compensations.
  const bool begun = execution.kind == Kind::workflow && execution.fence > 0;
  if (execution.status == Status::pending && !begun) {
    state.end(*record, {.status = Status::cancelled, .error = cancelled_error(reason)}, now);
    return {.verdict = CancelVerdict::cancelled, .status = Status::cancelled};
  }
  if (!execution.cancel_requested) {
    execution.cancel_requested = true;
    record->cancel_reason = reason;
    if (begun) { state.send_event(*record, {.kind = EventKind::cancel, .error = cancelled_error(reason)}, now); }
  }
  return {.verdict = CancelVerdict::requested, .status = execution.status};
}

void close_children(State& state, const Execution& parent, Time now) {
  if (parent.kind != Kind::workflow || parent.fence == 0) { return; }
  const Actor itself;
  for (auto child = state.children.lower_bound({parent.id, Uuid{}});
       child != state.children.end() && child->first == parent.id; ++child) {
    const Execution& execution = state.records.at(child->second).execution;
    if (execution.kind != Kind::workflow || !closes_with_parent(execution.labels, execution.deadline, now)) {
      continue;
    }
    static_cast<void>(cancel(state, execution.id, {.reason = parent_ended, .by = itself}, now));
  }
}

RetryResult retry(State& state, const RetryRequest& request, const Actor& by, Time now) {
  Record* const record = state.find(request.id, now);
  if (record == nullptr) { return {}; }
  Execution& execution = record->execution;
  RetryResult result{.existing = execution.id, .status = execution.status, .run = execution.run};
  const auto answer = [&result](RetryVerdict verdict, const Record* existing) {
    result.verdict = verdict;
    if (existing != nullptr) {
      result.existing = existing->execution.id;
      result.status = existing->execution.status;
      result.run = existing->execution.run;
    }
    return result;
  };
  if (!is_terminal(execution.status)) { return answer(RetryVerdict::not_finished, nullptr); }
  if (execution.kind == Kind::guard) { return answer(RetryVerdict::guarded, nullptr); }
  if (execution.status == Status::completed) { return answer(RetryVerdict::completed, nullptr); }
  if (execution.retried_as) {
    result.existing = *execution.retried_as;
    return answer(RetryVerdict::already_retried, state.find(*execution.retried_as, now));
  }
  IdentityRow identity;
  if (execution.identity) {
    if (const std::optional<Holder> holder = state.find_holder(*execution.identity, now)) {
      if (holder->id != execution.id) {
        return {.verdict = RetryVerdict::identity_held,
                .existing = holder->id,
                .status = holder->status,
                .run = holder->run};
      }
      const IdentityRow& held = state.identities.at(*execution.identity);
      identity.fingerprint = held.fingerprint;
      identity.hold_for = held.hold_for;
    }
  }
  const Record& fresh = state.insert(next_run(*record, request, now), identity, now);
  execution.retried_as = request.new_id;
  state.leave_dead_letters(*record);
  state.write_act(by, "execution.retry", execution, request.new_id.to_string(), now);
  return answer(RetryVerdict::created, &fresh);
}

bool discard(State& state, const Uuid& id, const Actor& by, Time now) {
  Record* const record = state.find(id, now);
  if (record == nullptr || !record->execution.dead) { return false; }
  state.leave_dead_letters(*record);
  state.write_act(by, "execution.discard", record->execution, "", now);
  return true;
}

bool annotate(State& state, const Uuid& id, const Annotation& annotation, Time now) {
  Record* const record = state.find(id, now);
  if (record == nullptr || !is_terminal(record->execution.status)) { return false; }
  record->execution.note = base::keep_head(base::escape_invalid(annotation.note), limits::note_bytes);
  state.write_act(annotation.by, "execution.annotate", record->execution, record->execution.note, now);
  return true;
}

}  // namespace hapax::store::memory
