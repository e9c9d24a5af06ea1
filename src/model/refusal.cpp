#include "model/refusal.hpp"

#include <hapax/error.hpp>

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

Asking asking_of(const NewExecution& request) {
  Asking asking{.task = request.task, .key = {}, .kind = request.kind};
  if (request.identity) {
    asking.key = request.identity->key;
    asking.mode = request.identity->mode;
  }
  return asking;
}

Asking asking_of(const std::string& task, const EnqueueOptions& options, const NewExecution& request) {
  return {.task = task,
          .key = options.task_id ? std::string_view(*options.task_id) : "",
          .kind = request.kind,
          .mode = request.identity ? request.identity->mode : IdentityMode::hold};
}

void throw_if_refused(const Admission& admission, const Asking& asking) {
  if (admission.verdict == AdmissionVerdict::created) { return; }  // the usual case, before any text is built
  const std::string noun = asking.kind == Kind::workflow ? "Workflow" : "Task";
  const std::string who = asking.key.empty() ? noun + " '" + std::string(asking.task) + "' with the same input "
                                             : noun + " with ID '" + std::string(asking.key) + "' ";
  const auto named = [&](std::string_view what) { return who + std::string(what); };
  const std::string is = admission.status == Status::running ? "is already running" : "is already pending";
  switch (admission.verdict) {
    case AdmissionVerdict::created:
    case AdmissionVerdict::taken_over:
    case AdmissionVerdict::deduplicated: return;
    case AdmissionVerdict::already_exists:
      // keep_last is refused only when the holder is in another queue or has no keep_last: the two executions could
      // then run at once.
      throw TaskAlreadyExists(
          named(asking.mode == IdentityMode::keep_last
                    ? is +
                          " in another queue or was asked for without keep_last, and keep_last puts a request behind " +
                          "its like in one queue only; ask for the same queue, or again when that one has ended"
                    : is),
          admission.id, admission.status);
    case AdmissionVerdict::already_completed:
      throw TaskAlreadyCompleted(named("has already completed"), admission.id, admission.finished_at.value_or(Time{}),
                                 admission.expired ? "" : admission.result.value_or("null"));
    case AdmissionVerdict::already_finished:
      throw TaskAlreadyFinished(named("has already ended as " + std::string(to_string(admission.status))), admission.id,
                                admission.status);
    case AdmissionVerdict::mismatch:
      throw IdempotencyMismatch(asking.key.empty()
                                    ? noun + " '" + std::string(asking.task) +
                                          "' was asked for before under the same identity with another input"
                                    : named("was given before with another input"),
                                admission.id);
    case AdmissionVerdict::queue_draining: throw QueueDraining("the queue is draining and takes nothing new");
    case AdmissionVerdict::session_gone:
      throw StaleLease("the session that was to run " + admission.id.to_string() + " is gone");
    case AdmissionVerdict::name_taken:
      throw TaskAlreadyExists(named("has the name of another"), admission.id, admission.status);
  }
}

}  // namespace hapax::model
