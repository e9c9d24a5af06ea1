#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

std::optional<Guard> guard(State& state, const base::Digest& identity, Time now) {
  const std::optional<Holder> holder = state.find_holder(identity, now);
  if (!holder || holder->expired) { return std::nullopt; }
  const Execution& execution = state.records.at(holder->id).execution;
  Guard guard;
  guard.id = execution.id;
  guard.task = execution.task;
  guard.key = execution.identity_key;
  guard.status = execution.status;
  guard.result = execution.result;
  guard.error = execution.error;
  guard.started_at = execution.started_at.value_or(execution.created_at);
  guard.finished_at = execution.finished_at;
  guard.expires_at = execution.expires_at;
  guard.fence = execution.fence;
  guard.takeover_after = execution.attempt_timeout;
  guard.heartbeat = execution.finished_at.value_or(guard.started_at);
  guard.abandoned = holder->abandoned;
  guard.fingerprint = holder->fingerprint;
  guard.worker = execution.worker;
  guard.now = now;
  if (execution.status == Status::running) {
    const auto session = state.sessions.find(*execution.session);
    if (session != state.sessions.end()) {
      guard.heartbeat = std::max(guard.started_at, session->second.expires_at - session->second.opened.lease);
    }
  }
  return guard;
}

bool forget_guard(State& state, const Uuid& id, Time now) {
  Record* const record = state.find(id, now);
  if (record == nullptr || record->execution.kind != Kind::guard) { return false; }
  state.forget_guard(*record);
  return true;
}

}  // namespace hapax::store::memory
