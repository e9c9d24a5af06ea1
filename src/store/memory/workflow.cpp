// Turns, events and waiters of workflows.
#include "model/refusal.hpp"
#include "store/memory/verbs.hpp"

#include <algorithm>
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

// Admits the execution that an entry starts; the entry waits for its end.
void start_child(State& state, const Uuid& parent, JournalEntry& entry, Time now) {
  const Admission admission = admit(state, *entry.start, now);
  Record& record = state.records.at(parent);
  if (is_refused(admission)) {
    state.tell(record, refused(admission, entry.position), now);
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

SignalResult signal(State& state, const Signal& signal, const Actor& by, Time now) {
  Record* record = state.find(signal.execution, now);
  // Each run of a chain has the id of the next run; the last run gets the signal.
  while (record != nullptr && record->execution.continued_as) {
    record = state.find(*record->execution.continued_as, now);
  }
  if (record == nullptr) { return {}; }
  Execution& execution = record->execution;
  SignalResult result{.status = execution.status, .execution = execution.id};
  if (execution.kind != Kind::workflow) {
    result.verdict = SignalVerdict::not_a_workflow;
    return result;
  }
  if (is_terminal(execution.status)) {
    result.verdict = SignalVerdict::finished;
    return result;
  }
  result.verdict = SignalVerdict::accepted;
  state.note_act(by, "execution.signal", execution, signal.name, now);
  if (signal.once && !record->signal_keys.insert(*signal.once).second) { return result; }
  const std::size_t before = state.woken.size();
  state.tell(*record, {.kind = EventKind::signal, .name = signal.name, .data = signal.data}, now);
  if (state.woken.size() > before) { result.woken = execution.queue; }
  return result;
}

void plant(Record& record, const Seed& seed, Time now) {
  for (JournalEntry entry : seed.entries) {
    entry.execution = record.execution.id;
    entry.fence = 0;
    entry.start.reset();
    record.journal.emplace(entry.position, std::move(entry));
  }
  for (Event event : seed.events) {
    event.execution = record.execution.id;
    event.number = static_cast<std::int64_t>(record.events.size()) + 1;
    event.at = now;
    record.events.push_back(std::move(event));
  }
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
  for (const Event& event : record.events) {
    const bool unseen = event.number > turn.seen;
    const bool signal = event.kind == EventKind::signal;
    const bool carried = signal && std::ranges::find(turn.carried, event.number) != turn.carried.end();
    if (carried || (unseen && (signal || event.kind == EventKind::cancel))) { state.tell(fresh, event, now); }
  }
  fresh.signal_keys = record.signal_keys;
  record.execution.continued_as = next.id;
  state.woken.push_back(next.queue);
}

void State::tell(Record& record, Event event, Time now) {
  Execution& execution = record.execution;
  event.execution = execution.id;
  event.number = static_cast<std::int64_t>(record.events.size()) + 1;
  event.at = now;
  record.events.push_back(std::move(event));
  if (execution.status == Status::pending && execution.waiting && execution.run_at > now) {
    leave_queue(record);
    execution.run_at = now;
    enter_queue(record, now);
    woken.push_back(execution.queue);
  }
}

void State::wait_for(const Uuid& awaited, const Waiter& waiter, Time now) {
  Record* const record = find(awaited, now);
  if (record == nullptr) {
    // Only the execution's identity is still held; its result is gone.
    tell(records.at(waiter.execution),
         {.kind = EventKind::refused, .position = waiter.position, .child = awaited, .error = expired_error()}, now);
    return;
  }
  record->waiters.push_back(waiter);
  if (!is_terminal(record->execution.status)) { return; }
  if (record->execution.continued_as) {
    const Uuid next = *record->execution.continued_as;
    record->waiters.clear();
    wait_for(next, waiter, now);
    return;
  }
  tell_waiters(*record, now);
}

void State::tell_waiters(Record& record, Time now) {
  const Execution& ended = record.execution;
  for (const Waiter& waiter : std::exchange(record.waiters, {})) {
    const auto found = records.find(waiter.execution);
    if (found == records.end() || is_terminal(found->second.execution.status)) { continue; }
    tell(found->second,
         {.kind = EventKind::ended,
          .position = waiter.position,
          .child = ended.id,
          .status = ended.status,
          .data = ended.result,
          .error = ended.error},
         now);
  }
}

}  // namespace hapax::store::memory
