// Queries of a workflow run: answered in this process, and by the workflow that answers questions of other processes
// (model/question.hpp).
#pragma once

#include "workflow/workflow_run.hpp"

#include <exception>
#include <memory>
#include <string>
#include <string_view>

namespace hapax::workflow {

// The user's query function threw. Every other exception of ask_run() is hapax's own.
struct QueryThrew {
  std::exception_ptr error;
};

// Replays the run's journal to its end and calls the query there. Returns the answer as JSON. Throws NotFound,
// WrongStatus, InvalidArgument or QueryThrew.
[[nodiscard]] std::string ask_run(Host& host, const Uuid& id, std::string_view name, const std::string& question_json);

// Returns the claim that the run would have if it were claimed now.
[[nodiscard]] model::Claim claim_like(const model::Execution& execution, Time now);

[[nodiscard]] Function answering(std::weak_ptr<Host> app);

}  // namespace hapax::workflow
