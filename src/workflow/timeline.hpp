// A run's journal and events as a readable timeline, and as a file that can be replayed.
#pragma once

#include <hapax/inspect.hpp>

#include "model/turn.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hapax::workflow {

// Whether the entry waited for a signal that did not come in time, and so took no signal.
[[nodiscard]] bool timed_out(const std::vector<model::JournalEntry>& entries, std::size_t place);

// `children`: the executions that the run started, as far as the store still has them.
[[nodiscard]] std::vector<TimelineEntry> timeline(const model::History& history,
                                                  const std::vector<model::Execution>& children);

struct Exported {
  model::Execution execution;
  model::History history;
};
[[nodiscard]] std::string export_json(const Exported& exported);
// Throws InvalidArgument when `text` is no exported journal.
[[nodiscard]] Exported import_json(std::string_view text);

}  // namespace hapax::workflow
