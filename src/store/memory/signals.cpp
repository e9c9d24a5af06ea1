#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

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
  state.write_act(by, "execution.signal", execution, signal.name, now);
  if (signal.once && !record->signal_keys.insert(*signal.once).second) { return result; }
  const std::size_t before = state.woken.size();
  state.send_event(*record, {.kind = EventKind::signal, .name = signal.name, .data = signal.data}, now);
  if (state.woken.size() > before) { result.woken = execution.queue; }
  return result;
}

void carry_signals(State& state, const Record& from, Record& to, const Turn& turn, Time now) {
  for (const Event& event : from.events) {
    const bool unseen = event.number > turn.seen;
    const bool signal = event.kind == EventKind::signal;
    const bool carried = signal && std::ranges::find(turn.carried, event.number) != turn.carried.end();
    if (carried || (unseen && (signal || event.kind == EventKind::cancel))) { state.send_event(to, event, now); }
  }
  to.signal_keys = from.signal_keys;
}

}  // namespace hapax::store::memory
