#include "model/admission.hpp"

namespace hapax::model {

namespace {

// Whether the reuse policy lets a new run follow a holder that has ended.
bool may_follow(Status ended, Reuse reuse) {
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

// The verdict when the holder answers for the request.
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

}  // namespace

AdmissionDecision decide_admission(const Holder& holder, const IdentityClaim& request) {
  // Fingerprints are not compared on these two ways out: the holder no longer blocks. To replace a live holder, often
  // because its input is out of date, is what terminate_existing is for; that it asks for a new run of a live holder
  // outranks the reuse policy, which speaks of holders that have ended.
  if (!is_terminal(holder.status) && request.on_conflict == OnConflict::terminate_existing) {
    return {.step = AdmissionStep::terminate_and_new_run, .admission = {}};
  }
  if (is_terminal(holder.status) && may_follow(holder.status, request.reuse)) {
    return {.step = AdmissionStep::new_run, .admission = {}};
  }

  AdmissionDecision decision;
  Admission& answer = decision.admission;
  answer.verdict = verdict_from(holder, request);
  answer.id = holder.id;
  answer.status = holder.status;
  answer.run = holder.run;
  answer.deduplicated_from = holder.created_at;
  if (is_terminal(holder.status)) { answer.finished_at = holder.finished_at; }
  // Who asks with another input gets no result: it is not the answer to what was asked.
  if (holder.status == Status::completed && answer.verdict != AdmissionVerdict::mismatch) {
    answer.result = holder.result;
  }
  return decision;
}

}  // namespace hapax::model
