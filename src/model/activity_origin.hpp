// Finds the activity that started an execution from the execution's stored key and parent. For display and search only.
#pragma once

#include "model/execution.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hapax::model {

// The parts of a run's ID, "activity-daily-report:2026-03-01T09:00:00+00:00", or of a task instance's ID,
// "task-activity-daily-report:…:extract:0".
struct RunName {
  std::string activity;  // "daily-report"
  std::string run_id;    // the run's ID, also when the text is a task instance's ID
  bool is_instance = false;
};
// None: the text names no run. An event's id may contain colons, so a task instance's ID is split at its last two
// colons only; a task type is assumed to contain none.
[[nodiscard]] std::optional<RunName> parse_run_name(std::string_view text);

// None: no activity started the execution.
[[nodiscard]] std::optional<RunName> activity_origin(const Execution& execution);

}  // namespace hapax::model
