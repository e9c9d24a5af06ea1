// Executions, attempts, outcomes and queues as JSON: the API's answers and the command line's --json.
#pragma once

#include <hapax/inspect.hpp>

#include "model/execution.hpp"
#include "model/explain.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hapax {
class App;
}

namespace hapax::api {

// {"base","cap","multiplier","jitter"}
[[nodiscard]] std::string retry_json(const RetryPolicy& policy);
[[nodiscard]] std::string error_json(const std::optional<model::ErrorInfo>& error);
[[nodiscard]] std::string attempt_json(const model::Attempt& attempt);
[[nodiscard]] std::string attempts_json(const std::vector<model::Attempt>& attempts);
[[nodiscard]] std::string timeline_json(const std::vector<TimelineEntry>& timeline);
// Fields for the view of one execution that lists leave out.
struct ExecutionDetails {
  std::vector<model::Attempt> attempts;
  std::optional<std::vector<TimelineEntry>> journal;  // of a workflow
  std::optional<std::string> parent_workflow_id;      // if a workflow started the execution
};
// All fields of an execution; payloads only if they were read from the store.
[[nodiscard]] std::string execution_json(const model::Execution& execution, bool payloads,
                                         const ExecutionDetails* details = nullptr);
// The execution with its attempts, the ID of its parent workflow and, for a workflow, its journal, read through `app`.
[[nodiscard]] std::string shown_execution_json(App app, const model::Execution& execution);
[[nodiscard]] std::string queue_json(const model::QueueInfo& queue);
// {"id","status","result"?,"error"?}
[[nodiscard]] std::string outcome_json(const model::Outcome& outcome);
// {"id","created","status","run","deduplicated_from"?,"result"?,"result_expired"?,"error"?}. `end` is the outcome if
// the caller waited for it.
[[nodiscard]] std::string admission_json(const model::Admission& admission, const std::optional<model::Outcome>& end);
// {"id","status","reasons":[{"code","sentence","remedy"}]}
[[nodiscard]] std::string explain_json(const model::Execution& execution, const std::vector<model::Reason>& reasons);

}  // namespace hapax::api
