// A run's journal and events as people read them (SPEC W7), and as a file that can be played again (W5).
#pragma once

#include <hapax/inspect.hpp>

#include "model/turn.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hapax::workflow {

// Whether the entry waits for a signal that did not come in time: then it took none.
[[nodiscard]] bool timed_out(const std::vector<model::JournalEntry>& entries, std::size_t place);

// `children` are what is still known of the executions it started.
[[nodiscard]] std::vector<TimelineEntry> timeline(const model::History& history,
                                                  const std::vector<model::Execution>& children);

struct Exported {
  model::Execution execution;
  model::History history;
};
[[nodiscard]] std::string export_json(const Exported& exported);
// Throws InvalidArgument for what is no exported journal.
[[nodiscard]] Exported import_json(std::string_view text);

}  // namespace hapax::workflow
