#include "api/acting_json.hpp"

#include <hapax/error.hpp>

#include "base/json_out.hpp"

namespace hapax::api {

using model::RetryVerdict;

std::string_view retry_word(RetryVerdict verdict) {
  switch (verdict) {
    case RetryVerdict::created: return "created";
    case RetryVerdict::not_found: return "not_found";
    case RetryVerdict::not_finished: return "not_finished";
    case RetryVerdict::completed: return "completed";
    case RetryVerdict::already_retried: return "already_retried";
    case RetryVerdict::identity_held: return "identity_held";
    case RetryVerdict::guarded: return "guarded";
  }
  return "not_found";
}

void throw_retry_refusal(const Uuid& id, const model::RetryResult& result) {
  const std::string subject = "execution " + id.to_string();
  switch (result.verdict) {
    case RetryVerdict::not_finished:
      throw WrongStatus(subject + " is " + std::string(to_string(result.status)) + ", so there is nothing to retry yet",
                        result.status);
    case RetryVerdict::completed:
      throw WrongStatus(subject + " completed, so there is nothing to retry", Status::completed);
    case RetryVerdict::already_retried:
      throw TaskAlreadyExists(subject + " was retried already, as " + result.existing.to_string(), result.existing,
                              result.status);
    case RetryVerdict::identity_held:
      throw TaskAlreadyExists(subject + " has a newer run under its key, " + result.existing.to_string(),
                              result.existing, result.status);
    case RetryVerdict::guarded:
      throw WrongStatus(subject + " is a guarded call: forget its record (hapax guard forget), and call it again",
                        result.status);
    case RetryVerdict::created:
    case RetryVerdict::not_found: break;
  }
  throw NotFound("no ended execution " + id.to_string());
}

std::string retry_json(const model::RetryRequest& request, const model::RetryResult& result) {
  base::JsonObject item;
  item.text("id", request.id.to_string()).text("verdict", retry_word(result.verdict));
  if (result.verdict == RetryVerdict::created) {
    item.text("new_id", request.new_id.to_string()).number("run", std::int64_t{result.run});
  } else if (!result.existing.is_nil()) {
    item.text("existing_execution_id", result.existing.to_string());
  }
  return item.str();
}

std::string cancel_json(const Uuid& id, const model::CancelResult& result) {
  const auto word = [](model::CancelVerdict verdict) {
    switch (verdict) {
      case model::CancelVerdict::cancelled: return "cancelled";
      case model::CancelVerdict::requested: return "requested";
      case model::CancelVerdict::finished: return "finished";
      case model::CancelVerdict::not_found: return "not_found";
    }
    return "not_found";
  };
  base::JsonObject item;
  item.text("id", id.to_string()).text("verdict", word(result.verdict)).text("status", to_string(result.status));
  return item.str();
}

void throw_cancel_refusal(const Uuid& id, const model::CancelResult& result) {
  if (result.verdict != model::CancelVerdict::finished) { throw NotFound("no execution " + id.to_string()); }
  throw WrongStatus("execution " + id.to_string() + " is already " + std::string(to_string(result.status)),
                    result.status);
}

void require_workflow(const model::Execution& run) {
  if (run.kind == model::Kind::workflow) { return; }
  throw InvalidArgument("execution", run.id.to_string() + " is a task; expected a workflow's run");
}

std::string signalled_json(const model::Execution& run, std::string_view name) {
  base::JsonObject object;
  object.text("id", run.id.to_string()).text("workflow", run.task).text_or_null("workflow_id", run.identity_key);
  return object.text("signal", name).str();
}

}  // namespace hapax::api
