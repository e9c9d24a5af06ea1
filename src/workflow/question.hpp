// Asking a run what it knows (SPEC W4): here, and as the workflow that answers a question from afar (model/question.hpp).
#pragma once

#include "workflow/workflow_run.hpp"

#include <exception>
#include <memory>
#include <string>
#include <string_view>

namespace hapax::workflow {

// The function that answers threw; anything else that ask_run() throws is hapax's own.
struct QueryThrew {
  std::exception_ptr error;
};

// Plays the run's journal as far as it goes and asks there; the answer as JSON. Throws NotFound, WrongStatus,
// InvalidArgument or QueryThrew.
[[nodiscard]] std::string ask_run(const std::shared_ptr<detail::AppState>& app, const Uuid& id, std::string_view name,
                                  const std::string& question_json);

[[nodiscard]] Function answering(std::weak_ptr<detail::AppState> app);

}  // namespace hapax::workflow
