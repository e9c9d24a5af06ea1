// The end of retention: expired executions, tombstones, audit lines and rates of limit keys are deleted.
#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

void State::forget(Record& record, Time now) {
  leave_dead_letters(record);
  const Execution& execution = record.execution;
  const Uuid id = execution.id;
  if (execution.identity) {
    const auto held = identities.find(*execution.identity);
    if (held != identities.end() && held->second.execution == id) {
      IdentityRow& row = held->second;
      row.hold_until = tombstone_until(row.hold_for, *execution.finished_at, now);
      if (row.hold_until) {
        row.ended_as = execution.status;
        row.ended_at = execution.finished_at;
        tombstone_namespaces[held->first] = execution.queue.namespace_name;
      } else {
        identities.erase(held);
      }
    }
  }
  expiries.erase({*execution.expires_at, id});
  if (execution.parent) { children.erase({*execution.parent, id}); }
  records.erase(id);
}

void sweep_expired(State& state, int limit, SweepReport& report, Time now) {
  for (int budget = limit; !state.expiries.empty() && state.expiries.begin()->first <= now; --budget) {
    if (budget == 0) {
      report.more = true;
      return;
    }
    state.forget(state.records.at(state.expiries.begin()->second), now);
    report.expired += 1;
  }
  // A key's rate outlives the executions that used it, until it has recovered.
  for (auto& [name, queue] : state.queues) {
    std::erase_if(queue.keys, [now](const auto& key) {
      return key.second.members.empty() && (!key.second.load.arrival || *key.second.load.arrival <= now);
    });
  }
  sweep_audit(state, now);
  std::erase_if(state.identities,
                [now](const auto& held) { return held.second.hold_until && *held.second.hold_until <= now; });
  std::erase_if(state.tombstone_namespaces, [&state](const auto& buried) {
    const auto held = state.identities.find(buried.first);
    return held == state.identities.end() || !held->second.hold_until;
  });
  std::erase_if(state.names, [&state](const auto& named) { return !state.identities.contains(named.second); });
}

}  // namespace hapax::store::memory
