// Which activity started an execution, by what is stored of it (SPEC S2): for people who look at one.
#pragma once

#include "model/execution.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hapax::model {

// "activity-daily-report:2026-03-01T09:00:00+00:00" and, of a task instance, "task-activity-daily-report:…:extract:0".
struct RunName {
  std::string activity;  // "daily-report"
  std::string run_id;    // of the run, also when the name is a task instance's
  bool is_instance = false;
};
// None: the text is the name of no run. Event ids may have colons, so the run of a task instance is told up to its last
// two only: the task's type is taken to have none.
[[nodiscard]] std::optional<RunName> parse_run_name(std::string_view text);

// None: no activity started it.
[[nodiscard]] std::optional<RunName> activity_origin(const Execution& execution);

}  // namespace hapax::model
