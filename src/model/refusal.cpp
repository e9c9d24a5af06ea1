#include "model/refusal.hpp"

namespace hapax::model {

bool is_refused(const Admission& admission) {
  return admission.verdict != AdmissionVerdict::created && admission.verdict != AdmissionVerdict::deduplicated;
}

ErrorInfo refusal_of(const Admission& admission) {
  const std::string holder = "execution " + admission.id.to_string();
  const std::string status(to_string(admission.status));
  switch (admission.verdict) {
    case AdmissionVerdict::already_exists:
      return {"TaskAlreadyExists", "its key is held by " + holder + ", " + status, {}};
    case AdmissionVerdict::already_completed:
      return {"TaskAlreadyCompleted", "its key is held by " + holder + ", which has completed", {}};
    case AdmissionVerdict::already_finished:
      return {"TaskAlreadyFinished", "its key is held by " + holder + ", which ended as " + status, {}};
    case AdmissionVerdict::mismatch:
      return {"IdempotencyMismatch", "its key is held by " + holder + ", which was given another input", {}};
    case AdmissionVerdict::queue_draining: return {"QueueDraining", "its queue is draining and takes nothing new", {}};
    case AdmissionVerdict::created:
    case AdmissionVerdict::deduplicated:
    case AdmissionVerdict::taken_over:
    case AdmissionVerdict::session_gone:
    case AdmissionVerdict::name_taken: break;  // the last three: of guards and events, whose callers handle them
  }
  return {};
}

ErrorInfo expired_error() { return {"ResultExpired", "its key is held by an execution whose record has expired", {}}; }

}  // namespace hapax::model
