// The result of a cancel, a retry or a signal, as JSON, and as an exception when it was refused.
#pragma once

#include <hapax/uuid.hpp>

#include "model/execution.hpp"

#include <string>
#include <string_view>

namespace hapax::api {

[[nodiscard]] std::string_view retry_word(model::RetryVerdict verdict);
// {"id","verdict","new_id"?,"run"?,"existing_execution_id"?}
[[nodiscard]] std::string retry_json(const model::RetryRequest& request, const model::RetryResult& result);
// WrongStatus, TaskAlreadyExists or NotFound, for every verdict except created.
[[noreturn]] void throw_retry_refusal(const Uuid& id, const model::RetryResult& result);

// {"id","verdict","status"}
[[nodiscard]] std::string cancel_json(const Uuid& id, const model::CancelResult& result);
// WrongStatus for an execution that has ended, NotFound for one that does not exist.
[[noreturn]] void throw_cancel_refusal(const Uuid& id, const model::CancelResult& result);

// Throws InvalidArgument for an execution that is not a workflow's run.
void require_workflow(const model::Execution& run);
// {"id","workflow","workflow_id","signal"}; `run` is the run that got the signal.
[[nodiscard]] std::string signalled_json(const model::Execution& run, std::string_view name);

}  // namespace hapax::api
