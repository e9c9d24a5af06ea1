// Queries of a workflow run: in this process, and as the workflow that answers a question of another process
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

// A claim as the run would have it if it were claimed now.
[[nodiscard]] model::Claim claim_like(const model::Execution& execution, Time now);

[[nodiscard]] Function answering(std::weak_ptr<Host> app);

}  // namespace hapax::workflow
