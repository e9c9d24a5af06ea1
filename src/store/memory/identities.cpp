// Identities and their present holders.
#include "store/memory/state.hpp"

namespace hapax::store::memory {

namespace {

bool abandoned(const State& state, const Execution& execution, Time now) {
  if (execution.kind != Kind::guard || execution.status != Status::running) { return false; }
  const auto session = state.sessions.find(*execution.session);
  const std::optional<Time> lease_until =
      session == state.sessions.end() ? std::nullopt : std::optional(session->second.expires_at);
  return is_abandoned(execution.kind, execution.attempt_timeout, lease_until, now);
}

}  // namespace

std::optional<Holding> State::find_holding(const base::Digest& identity, Time now) const {
  const auto held = identities.find(identity);
  if (held == identities.end()) { return std::nullopt; }
  const auto record = records.find(held->second.execution);
  if (record == records.end()) { return holding_of(held->second, std::nullopt, std::nullopt, now); }
  const Execution& execution = record->second.execution;
  if (!is_terminal(execution.status)) {
    return holding_of(held->second,
                      LiveHolder{.status = execution.status,
                                 .fence = execution.fence,
                                 .run = execution.run,
                                 .created_at = execution.created_at,
                                 .abandoned = abandoned(*this, execution, now)},
                      std::nullopt, now);
  }
  return holding_of(held->second, std::nullopt,
                    EndedHolder{.status = execution.status,
                                .run = execution.run,
                                .created_at = execution.created_at,
                                .finished_at = *execution.finished_at,
                                .expires_at = *execution.expires_at,
                                .stub = record->second.stub,
                                .result = execution.result},
                    now);
}

std::optional<Holder> State::find_holder(const base::Digest& identity, Time now) const {
  std::optional<Holding> found = find_holding(identity, now);
  return found ? std::optional(std::move(found->holder)) : std::nullopt;
}

std::optional<base::Digest> State::name_owner(const base::Digest& name) const {
  const auto named = names.find(name);
  if (named == names.end()) { return std::nullopt; }
  const auto held = identities.find(named->second);
  return held != identities.end() && held->second.name == name ? std::optional(named->second) : std::nullopt;
}

}  // namespace hapax::store::memory
