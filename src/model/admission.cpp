#include "model/admission.hpp"

namespace hapax::model {

namespace {

// Whether the reuse policy lets a new run follow a holder that has ended.
bool reuse_allows_new_run(Status ended, Reuse reuse) {
  switch (reuse) {
    case Reuse::failed_only: return ended != Status::completed;
    case Reuse::reject: return false;
    case Reuse::allow: return true;
  }
  return false;
}

bool differs(const std::optional<base::Digest>& one, const std::optional<base::Digest>& other) {
  return one && other && *one != *other;
}

// The verdict of a request that is answered with its holder.
AdmissionVerdict verdict_from(const Holder& holder, const IdentityClaim& request) {
  if (differs(holder.fingerprint, request.fingerprint)) { return AdmissionVerdict::mismatch; }
  const bool refused = request.on_conflict == OnConflict::reject;
  if (!is_terminal(holder.status)) {
    return refused ? AdmissionVerdict::already_exists : AdmissionVerdict::deduplicated;
  }
  if (holder.status == Status::completed) {
    return refused ? AdmissionVerdict::already_completed : AdmissionVerdict::deduplicated;
  }
  return AdmissionVerdict::already_finished;
}

// The answer that describes the holder, with the given verdict.
Admission answer_of(const Holder& holder, AdmissionVerdict verdict) {
  Admission answer;
  answer.verdict = verdict;
  answer.id = holder.id;
  answer.status = holder.status;
  answer.run = holder.run;
  answer.deduplicated_from = holder.created_at;
  answer.expired = holder.expired;
  if (is_terminal(holder.status)) { answer.finished_at = holder.finished_at; }
  // A request with another input gets no result: the holder's result is not an answer to it.
  if (holder.status == Status::completed && verdict != AdmissionVerdict::mismatch) { answer.result = holder.result; }
  return answer;
}

// Whether a new run could run beside the live holder of a keep_last request, because the two share no ordered key. A
// pending holder in the same queue is no danger, as it is cancelled. A pending holder in another queue is one: an
// earlier run may still be running there.
bool could_run_beside_holder(const Holder& holder, IdentityMode mode) {
  if (mode != IdentityMode::keep_last || is_terminal(holder.status)) { return false; }
  return holder.place == HolderPlace::other_queue ||
         (holder.place == HolderPlace::other_key && holder.status == Status::running);
}

// Debounce and keep_last: the latest input counts, and a running holder is left to run.
AdmissionDecision decide_latest(const Holder& holder, IdentityMode mode) {
  if (could_run_beside_holder(holder, mode)) {
    return {.step = AdmissionStep::answer, .admission = answer_of(holder, AdmissionVerdict::already_exists)};
  }
  if (holder.status == Status::pending && holder.fence == 0 && holder.place == HolderPlace::same) {
    return {.step = AdmissionStep::replace, .admission = answer_of(holder, AdmissionVerdict::deduplicated)};
  }
  // A pending holder that cannot take the new input is cancelled. A holder that has started before may already have had
  // an effect with its old input under its effect key; a holder of another task, queue or key does not fit the request.
  if (holder.status == Status::pending) { return {.step = AdmissionStep::terminate_and_new_run, .admission = {}}; }
  return {.step = AdmissionStep::new_run, .admission = {}, .overtakes = holder.status == Status::running};
}

// Throttle: within the window the request is answered with the holder, however the holder ended. After the window a new
// run is admitted, even beside a live holder.
AdmissionDecision decide_throttled(const Holder& holder, const IdentityClaim& request, Time now) {
  if (holder.created_at + request.throttle <= now) { return {.step = AdmissionStep::new_run, .admission = {}}; }
  AdmissionVerdict verdict = AdmissionVerdict::deduplicated;
  if (differs(holder.fingerprint, request.fingerprint)) {
    verdict = AdmissionVerdict::mismatch;
  } else if (request.on_conflict == OnConflict::reject) {
    verdict = !is_terminal(holder.status)          ? AdmissionVerdict::already_exists
              : holder.status == Status::completed ? AdmissionVerdict::already_completed
                                                   : AdmissionVerdict::already_finished;
  }
  return {.step = AdmissionStep::answer, .admission = answer_of(holder, verdict)};
}

}  // namespace

HolderPlace place_of(const Execution& live, const NewExecution& request) {
  if (live.queue != request.queue) { return HolderPlace::other_queue; }
  if (live.limit_key != request.limit_key) { return HolderPlace::other_key; }
  return live.task == request.task ? HolderPlace::same : HolderPlace::other_task;
}

AdmissionDecision decide_admission(const Holder& holder, const IdentityClaim& request, Time now) {
  if (request.mode == IdentityMode::throttle) { return decide_throttled(holder, request, now); }
  if (request.mode != IdentityMode::hold) { return decide_latest(holder, request.mode); }
  // The next two branches do not compare fingerprints, as the holder no longer blocks. terminate_existing replaces a
  // live holder, often because its input is out of date. terminate_existing ignores the reuse policy, which is about
  // ended holders.
  if (!is_terminal(holder.status) && request.on_conflict == OnConflict::terminate_existing) {
    return {.step = AdmissionStep::terminate_and_new_run, .admission = {}};
  }
  if (is_terminal(holder.status) && reuse_allows_new_run(holder.status, request.reuse)) {
    return {.step = AdmissionStep::new_run, .admission = {}};
  }
  // Fingerprints are not compared here either: an abandoned guard no longer blocks.
  if (holder.abandoned && holder.status == Status::running) {
    return {.step = AdmissionStep::take_over, .admission = answer_of(holder, AdmissionVerdict::taken_over)};
  }
  return {.step = AdmissionStep::answer, .admission = answer_of(holder, verdict_from(holder, request))};
}

}  // namespace hapax::model
