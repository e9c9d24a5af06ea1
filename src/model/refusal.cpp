#include "model/refusal.hpp"

#include <utility>

namespace hapax::model {

std::string_view refusal_name(AdmissionVerdict verdict) {
  switch (verdict) {
    case AdmissionVerdict::already_exists: return "TaskAlreadyExists";
    case AdmissionVerdict::already_completed: return "TaskAlreadyCompleted";
    case AdmissionVerdict::already_finished: return "TaskAlreadyFinished";
    case AdmissionVerdict::mismatch: return "IdempotencyMismatch";
    case AdmissionVerdict::queue_draining: return "QueueDraining";
    case AdmissionVerdict::session_gone: return "StaleLease";
    case AdmissionVerdict::name_taken: return "TaskAlreadyExists";
    case AdmissionVerdict::created:
    case AdmissionVerdict::deduplicated:
    case AdmissionVerdict::taken_over: break;
  }
  return {};
}

bool is_refused(const Admission& admission) {
  return admission.verdict != AdmissionVerdict::created && admission.verdict != AdmissionVerdict::deduplicated;
}

ErrorInfo refusal_of(const Admission& admission) {
  const std::string holder = "execution " + admission.id.to_string();
  const std::string status(to_string(admission.status));
  std::string message;
  switch (admission.verdict) {
    case AdmissionVerdict::already_exists: message = "its key is held by " + holder + ", " + status; break;
    case AdmissionVerdict::already_completed: message = "its key is held by " + holder + ", which has completed"; break;
    case AdmissionVerdict::already_finished:
      message = "its key is held by " + holder + ", which ended as " + status;
      break;
    case AdmissionVerdict::mismatch:
      message = "its key is held by " + holder + ", which was given another input";
      break;
    case AdmissionVerdict::queue_draining: message = "its queue is draining and takes nothing new"; break;
    case AdmissionVerdict::created:
    case AdmissionVerdict::deduplicated:
    case AdmissionVerdict::taken_over:
    case AdmissionVerdict::session_gone:
    case AdmissionVerdict::name_taken:
      return {};  // the last three verdicts concern guards and events, whose callers handle them
  }
  return {std::string(refusal_name(admission.verdict)), std::move(message), {}};
}

ErrorInfo expired_error() { return {"ResultExpired", "its key is held by an execution whose record has expired", {}}; }

}  // namespace hapax::model
