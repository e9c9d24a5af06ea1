// What became of a cancel, a retry or a signal, as JSON and as the error of one that could not be.
#pragma once

#include <hapax/uuid.hpp>

#include "model/execution.hpp"

#include <string>
#include <string_view>

namespace hapax::wire {

[[nodiscard]] std::string_view retry_word(model::RetryVerdict verdict);
// {"id","verdict","new_id"?,"run"?,"existing_execution_id"?}
[[nodiscard]] std::string retry_json(const model::RetryRequest& request, const model::RetryResult& result);
// WrongStatus, TaskAlreadyExists or NotFound, for every verdict but created.
[[noreturn]] void throw_retry_refusal(const Uuid& id, const model::RetryResult& result);

// {"id","verdict","status"}
[[nodiscard]] std::string cancel_json(const Uuid& id, const model::CancelResult& result);
// WrongStatus or NotFound, for what had ended or is not there.
[[noreturn]] void throw_cancel_refusal(const Uuid& id, const model::CancelResult& result);

// InvalidArgument for a run that is a task's.
void require_workflow(const model::Execution& run);
// {"id","workflow","workflow_id","signal"}: the run that got it.
[[nodiscard]] std::string signalled_json(const model::Execution& run, std::string_view name);

}  // namespace hapax::wire
