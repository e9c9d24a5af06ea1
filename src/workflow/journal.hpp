// The entries of a workflow's journal and how they are encoded.
#pragma once

#include "model/journal_kind.hpp"
#include "model/turn.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::workflow {

using Entry = model::JournalKind;

// Returns a readable name: "step", "task", …
[[nodiscard]] std::string_view to_string(Entry entry);
[[nodiscard]] inline Entry entry_of(const model::JournalEntry& entry) { return static_cast<Entry>(entry.kind); }

// The first entry of every journal: the build that began the run. A worker without a build does not store this entry,
// because it would be a quarter of a three-step run's entries; the stored journal then begins with entry 1.
[[nodiscard]] model::JournalEntry begin_entry(std::string_view build);
// Puts the begin entry before entries that were read from the journal's beginning.
void restore_begin(std::vector<model::JournalEntry>& entries);
// As above, for display: a run that has ended gets the begin entry even if it recorded nothing.
void restore_begin(const model::Execution& execution, std::vector<model::JournalEntry>& entries);

// Returns "step 'charge'" or "timer": one side of a Divergence's text.
[[nodiscard]] std::string describe(Entry entry, std::string_view name);

struct StepRecord {
  Duration ran_for{0};
  int attempts = 1;
  std::string result;                     // of a step
  std::optional<model::ErrorInfo> error;  // of step_failed and step_retry
  Duration delay{0};                      // of step_retry
};
[[nodiscard]] std::string encode_step(const StepRecord& record);
[[nodiscard]] StepRecord decode_step(const model::JournalEntry& entry);

[[nodiscard]] std::string encode_invalid(std::int32_t of, const model::ErrorInfo& error);
// The error of an `invalid` entry.
[[nodiscard]] model::ErrorInfo decode_invalid(const model::JournalEntry& entry);

// A single number, e.g. {"us":5}.
[[nodiscard]] std::string encode_number(std::string_view member, std::int64_t value);
[[nodiscard]] std::int64_t decode_number(const model::JournalEntry& entry, std::string_view member);

}  // namespace hapax::workflow
