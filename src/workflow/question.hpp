// The function of the workflow that answers a question from afar (model/question.hpp).
#pragma once

#include "workflow/workflow_run.hpp"

#include <memory>

namespace hapax::workflow {

[[nodiscard]] Function answering(std::weak_ptr<detail::AppState> app);

}  // namespace hapax::workflow
