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

History history(State& state, const HistoryRequest& request, Time now) {
  History history;
  const Record* const record = state.find(request.execution, now);
  if (record == nullptr) { return history; }
  for (auto next = record->journal.lower_bound(request.from_position); next != record->journal.end(); ++next) {
    history.entries.push_back(next->second);
  }
  for (const Event& event : record->events) {
    if (event.number > request.after_event) { history.events.push_back(event); }
  }
  return history;
}

FinishVerdict relabel(State& state, const Held& held, const Labels& labels) {
  Record* const record = state.find_running(held.id, held.fence);
  if (record == nullptr) { return FinishVerdict::stale; }
  record->execution.labels = labels;
  return FinishVerdict::accepted;
}

}  // namespace hapax::store::memory
