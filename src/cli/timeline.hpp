// Prints a workflow's timeline, for `show` and `journal show`.
#pragma once

#include <hapax/inspect.hpp>

#include "model/execution.hpp"

#include <string>
#include <vector>

namespace hapax::cli {

// Prints a row for each entry, with times counted from the run's creation.
void print_timeline(const model::Execution& run, const std::vector<TimelineEntry>& timeline);

// The entries that have begun and not ended: "signal 'approve', timer until …". Empty when the run does not wait.
[[nodiscard]] std::string waits_for(const model::Execution& run, const std::vector<TimelineEntry>& timeline);

}  // namespace hapax::cli
