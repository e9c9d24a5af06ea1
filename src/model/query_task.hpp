// How a workflow is asked from afar (SPEC W4): a question is a task in a queue of its own, which every worker claims from
// that has the function, and its answer is the task's result. So it needs no path beside the one of all work.
#pragma once

#include "base/limits.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hapax::model {

inline constexpr std::string_view query_queue = "hapax.query";

// The task that asks runs of that workflow: {"execution", "query", "question"} in, {"answer"} or {"error"} out. None for a
// workflow whose name leaves no room for it.
[[nodiscard]] inline std::optional<std::string> query_task(std::string_view workflow) {
  std::string task = "hapax.query:" + std::string(workflow);
  return task.size() <= limits::name_bytes ? std::optional(std::move(task)) : std::nullopt;
}

}  // namespace hapax::model
