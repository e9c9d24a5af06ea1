#include "store/memory/verbs.hpp"

namespace hapax::store::memory {

FinishVerdict journal_append(State& state, const JournalEntry& entry, Time now) {
  Record* const record = state.find_running(entry.execution, entry.fence);
  if (record == nullptr) { return FinishVerdict::stale; }
  const auto [at, is_new] = record->journal.try_emplace(entry.position, entry);
  if (!is_new) { return FinishVerdict::stale; }
  at->second.at = now;
  return FinishVerdict::accepted;
}

std::vector<JournalEntry> journal_read(State& state, const Uuid& execution, Time now) {
  std::vector<JournalEntry> entries;
  if (const Record* const record = state.find(execution, now)) {
    for (const auto& [position, entry] : record->journal) { entries.push_back(entry); }
  }
  return entries;
}

}  // namespace hapax::store::memory
