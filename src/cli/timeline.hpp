// A workflow's timeline for people, as show and journal show print it.
#pragma once

#include <hapax/inspect.hpp>

#include "model/execution.hpp"

#include <string>
#include <vector>

namespace hapax::cli {

// A line for each entry, times counted from the run's creation, results cut to the terminal's width.
void print_timeline(const model::Execution& run, const std::vector<TimelineEntry>& timeline);

// "signal 'approve', timer until …": what has been begun and has not ended. Empty when the run does not wait.
[[nodiscard]] std::string waits_for(const model::Execution& run, const std::vector<TimelineEntry>& timeline);

}  // namespace hapax::cli
