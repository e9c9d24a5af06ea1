#include "api/routes/admission_answer.hpp"

#include <hapax/error.hpp>

#include "base/json_out.hpp"
#include "http/http_error.hpp"
#include "model/admission.hpp"
#include "model/error_table.hpp"
#include "model/refusal.hpp"

namespace hapax::api {

namespace {

using model::AdmissionVerdict;

constexpr const char* taken_text = "the key is taken: a task with it was asked for before";
constexpr const char* taken_workflow_text = "the id is taken: a workflow with it was started before";
constexpr const char* mismatch_text = "the key was given before with another input";

http::Problem without_facts(const model::Admission& admission, model::Kind kind) {
  const bool mismatch = admission.verdict == AdmissionVerdict::mismatch;
  const std::string_view name =
      model::refusal_name(mismatch ? AdmissionVerdict::mismatch : AdmissionVerdict::already_exists);
  return {.name = std::string(name),
          .message = mismatch                        ? mismatch_text
                     : kind == model::Kind::workflow ? taken_workflow_text
                                                     : taken_text,
          .http_status = model::find_error(name)->http_status,
          .facts = {}};
}

// Added to the error's own facts: when the holder was created, and when it ended.
std::string times_of(const model::Admission& admission) {
  if (admission.verdict == AdmissionVerdict::mismatch || admission.verdict == AdmissionVerdict::queue_draining) {
    return "";
  }
  base::JsonObject times;
  times.time("existing_created_at", admission.deduplicated_from);
  if (admission.finished_at) { times.time("existing_finished_at", admission.finished_at); }
  if (admission.expired) { times.boolean("result_expired", true); }
  return times.tail();
}

}  // namespace

void fit_to_principal(api::RequestFields& fields, const http::Principal& principal) {
  if (principal.read) { return; }
  // Debounce and keep_last accept every request; the answer does not say into which execution the request went.
  EnqueueOptions& options = fields.options;
  options.on_conflict = options.debounce || options.keep_last ? OnConflict::return_existing : OnConflict::reject;
  if (options.reuse) {
    throw http::Forbidden(
        "reuse: what a taken key may be used for again tells how its holder ended; asking for it needs a "
        "token with the scope 'read'");
  }
}

std::optional<http::Problem> refusal_of(const model::Admission& admission, const model::Asking& asked,
                                        const http::Principal& principal) {
  if (admission.created() || (admission.verdict == AdmissionVerdict::deduplicated && principal.read)) {
    return std::nullopt;
  }
  // The state of a queue reveals nothing about a key's holder.
  if (!principal.read && admission.verdict != AdmissionVerdict::queue_draining) {
    // A debounced request that replaced the input of a pending execution was accepted, not refused.
    const bool is_replaced = model::latest_counts(asked.mode) && admission.verdict == AdmissionVerdict::deduplicated;
    if (is_replaced) { return std::nullopt; }
    return without_facts(admission, asked.kind);
  }
  try {
    model::throw_if_refused(admission, asked);
  } catch (const Error& error) {
    http::Problem problem = http::problem_of(error);
    problem.facts += times_of(admission);
    return problem;
  }
  return std::nullopt;
}

bool is_in_progress(const model::Admission& admission, const http::Principal& principal) {
  return principal.read && admission.verdict == AdmissionVerdict::already_exists;
}

http::Problem renamed(http::Problem problem, std::string_view from, std::string_view to) {
  const std::string start = std::string(from) + ": ";
  if (problem.message.starts_with(start)) {
    problem.message = std::string(to) + ": " + problem.message.substr(start.size());
    problem.facts = base::JsonObject().text("field", to).tail();
  }
  return problem;
}

http::Problem named_for_api(http::Problem problem, model::Kind kind) {
  const std::string_view key = kind == model::Kind::workflow ? "workflow_id" : "idempotency_key";
  return renamed(renamed(std::move(problem), "task_id", key), "attempt_timeout", "timeout");
}

}  // namespace hapax::api
