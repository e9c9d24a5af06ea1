// Turns of workflows: their journal entries, the executions that the entries start, and the next run.
#include "model/refusal.hpp"
#include "store/memory/verbs.hpp"

#include <utility>

namespace hapax::store::memory {

namespace {

Event refused(const Admission& admission, std::int32_t position) {
  return {.kind = EventKind::refused,
          .position = position,
          .child = admission.verdict == AdmissionVerdict::queue_draining ? std::nullopt : std::optional(admission.id),
          .status = admission.status,
          .error = refusal_of(admission)};
}

// Admits the execution that an entry starts, and makes the entry wait for its end.
void start_child(State& state, const Uuid& parent, JournalEntry& entry, Time now) {
  const Admission admission = admit(state, *entry.start, now);
  Record& record = state.records.at(parent);
  if (is_refused(admission)) {
    state.send_event(record, refused(admission, entry.position), now);
    return;
  }
  entry.child = admission.id;
  if (admission.created()) { state.woken.push_back(entry.start->queue); }
  state.wait_for(admission.id, {.execution = parent, .position = entry.position}, now);
}

}  // namespace

bool append_turn(State& state, Record& record, const std::vector<JournalEntry>& entries, Time now) {
  std::set<std::int32_t> positions;
  for (const JournalEntry& entry : entries) {
    if (record.journal.contains(entry.position) || !positions.insert(entry.position).second) { return false; }
  }
  const Uuid id = record.execution.id;
  for (const JournalEntry& given : entries) {
    JournalEntry entry = given;
    entry.execution = id;
    entry.fence = record.execution.fence;
    entry.at = now;
    if (entry.start) { start_child(state, id, entry, now); }
    entry.start.reset();
    record.journal.emplace(entry.position, std::move(entry));
  }
  return true;
}

AdvanceReply advance(State& state, const Advance& turn, Time now) {
  Record* const record = state.find_running(turn.execution, turn.fence);
  if (record == nullptr || !append_turn(state, *record, turn.entries, now)) { return {}; }
  if (turn.clears_lost) { record->execution.lost = 0; }
  return {.verdict = FinishVerdict::accepted, .at = now};
}

void seed_journal(Record& record, const Seed& seed, Time now) {
  for (JournalEntry entry : seed.entries) {
    entry.execution = record.execution.id;
    entry.fence = 0;
    entry.start.reset();
    record.journal.emplace(entry.position, std::move(entry));
  }
  for (const Event& event : seed.events) { add_event(record, event, now); }
}

void continue_run(State& state, Record& record, const Turn& turn, Time now) {
  const Execution& before = record.execution;
  NewExecution next = *turn.next;
  next.identity.reset();
  next.parent = before.parent;
  next.labels = before.labels;
  Record made = make_record(next, before.run + 1, now);
  made.execution.identity_key = before.identity_key;
  made.stored_effect_key = record.stored_effect_key;
  IdentityRow identity;
  if (before.identity) {
    const auto held = state.identities.find(*before.identity);
    // A newer run may have taken the identity over.
    if (held != state.identities.end() && held->second.execution == before.id) {
      made.execution.identity = before.identity;
      identity.hold_for = held->second.hold_for;
    }
  }
  Record& fresh = state.insert(std::move(made), identity, now);
  fresh.waiters = std::exchange(record.waiters, {});
  carry_signals(state, record, fresh, turn, now);
  record.execution.continued_as = next.id;
  state.woken.push_back(next.queue);
}

}  // namespace hapax::store::memory
