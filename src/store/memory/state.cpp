#include "store/memory/state.hpp"

#include "model/effect_key.hpp"
#include "model/labels.hpp"
#include "model/retention.hpp"

namespace hapax::store::memory {

ErrorInfo storable(const ErrorInfo& error) { return decode_error(encode_error(error)); }

ErrorInfo cancelled_error(std::string_view reason) {
  return storable({.type = "Cancelled", .message = std::string(reason), .detail = ""});
}

Record* State::find(const Uuid& id, Time now) {
  const auto found = records.find(id);
  if (found == records.end()) { return nullptr; }
  const auto& expires_at = found->second.execution.expires_at;
  return expires_at && *expires_at <= now ? nullptr : &found->second;
}

Record* State::find_running(const Uuid& id, std::int64_t fence) {
  const auto found = records.find(id);
  if (found == records.end()) { return nullptr; }
  const Execution& execution = found->second.execution;
  return execution.status == Status::running && execution.fence == fence ? &found->second : nullptr;
}

Record& State::insert(Record fresh, const IdentityRow& identity, Time now) {
  const Uuid id = fresh.execution.id;
  Record& record = records.emplace(id, std::move(fresh)).first->second;
  Execution& execution = record.execution;
  execution.effect_key = effect_key(record.stored_effect_key, execution.identity, id);
  if (execution.identity) {
    IdentityRow& row = identities[*execution.identity];
    const std::optional<base::Digest> name = identity.name ? identity.name : row.name;
    row = identity;
    row.name = name;
    if (name) { names[*name] = *execution.identity; }
    row.execution = id;
    row.run = execution.run;
    row.created_at = execution.created_at;
  }
  if (execution.deadline) { deadlines.emplace(*execution.deadline, id); }
  if (execution.parent) { children.emplace(*execution.parent, id); }
  join_key(record);
  enter_queue(record, now);
  return record;
}

void State::replace(Record& record, const NewExecution& by, Time now) {
  leave_queue(record);
  Execution& execution = record.execution;
  execution.input = by.input;
  execution.priority = by.priority;
  execution.max_attempts = by.max_attempts;
  execution.max_lost = by.max_lost;
  execution.retry = by.retry;
  execution.attempt_timeout = by.attempt_timeout;
  execution.labels = by.labels;
  execution.weight = by.weight;
  execution.run_at = by.run_at.value_or(now + by.delay);
  if (execution.deadline) { deadlines.erase({*execution.deadline, execution.id}); }
  execution.deadline = by.deadline ? std::optional(now + *by.deadline) : std::nullopt;
  if (execution.deadline) { deadlines.emplace(*execution.deadline, execution.id); }
  identities.at(*execution.identity).fingerprint = by.identity->fingerprint;
  enter_queue(record, now);
  // Another execution of the key may now become claimable in its place.
  if (execution.limit_key && !execution.limit_key->ordered) {
    unpark(queues[execution.queue], *execution.limit_key, now);
  }
}

void State::start(Record& record, Session& session, std::int64_t claim_number, Time now) {
  leave_queue(record);
  Execution& execution = record.execution;
  execution.waiting = false;
  execution.status = Status::running;
  execution.attempt += 1;
  execution.fence += 1;
  execution.session = session.opened.id;
  execution.worker = session.opened.worker;
  execution.started_at = now;
  record.claim_number = claim_number;
  record.left_by.reset();
  session.running.emplace(execution.id, &record);
  queues[execution.queue].running += 1;
  if (Key* const key = key_of(record); key != nullptr && execution.limit_key->ordered) {
    key->members.erase(record.sequence);
    record.sequence = head_sequence;
    key->members.emplace(record.sequence, &record);
  }
}

void State::take_over(Record& record, Session& session, const NewExecution& by, Time now) {
  Execution& execution = record.execution;
  add_attempt(record, "lost", std::nullopt, *execution.started_at, now);
  leave_session(record);
  execution.lost += 1;
  execution.input = by.input;
  execution.attempt_timeout = by.attempt_timeout;
  identities.at(*execution.identity).fingerprint = by.identity->fingerprint;
  start(record, session, by.born_running->claim_number, now);
}

void State::end_session(std::map<Uuid, Session>::iterator session) {
  for (const auto& [id, record] : session->second.running) {
    record->execution.worker.clear();
    guards_without_session[session->first].emplace(id, record);
  }
  sessions.erase(session);
}

void State::abandon(Record& record) {
  Execution& execution = record.execution;
  sessions.at(*execution.session).running.erase(execution.id);
  execution.session = Uuid{};
  execution.worker.clear();
}

void State::make_pending(Record& record, Time run_at, Time now, Unpark unpark_next) {
  leave_session(record);
  Execution& execution = record.execution;
  execution.status = Status::pending;
  execution.run_at = run_at;
  execution.session.reset();
  execution.worker.clear();
  execution.started_at.reset();
  enter_queue(record, now);
  const std::optional<LimitKey>& key = execution.limit_key;
  if (key && !key->ordered && unpark_next == Unpark::yes) { unpark(queues[execution.queue], *key, now); }
}

void State::release(Record& record, Time now) {
  if (record.to_be_cancelled()) {
    end(record, {.status = Status::cancelled, .error = cancelled_error(record.cancel_reason.value_or(""))}, now);
    return;
  }
  record.execution.attempt -= 1;
  make_pending(record, record.execution.run_at, now);
}

void State::end(Record& record, Ending ending, Time now) {
  Execution& execution = record.execution;
  if (execution.status == Status::running) {
    leave_session(record);
    if (ending.ran_for) { execution.started_at = now - *ending.ran_for; }
  } else {
    leave_queue(record);
  }
  if (execution.deadline) { deadlines.erase({*execution.deadline, execution.id}); }
  leave_key(record, now);
  Queue& queue = queues[execution.queue];
  const Expiry kept_until = expiry(queue.settings, execution.kind, ending.status, ending.keep, now);
  record.stub = kept_until.stub;
  if (kept_until.stub) { execution.input = "null"; }
  execution.status = ending.status;
  execution.result = std::move(ending.result);
  execution.error = std::move(ending.error);
  execution.finished_at = now;
  execution.expires_at = kept_until.at;
  execution.cancel_requested = false;
  execution.dead = is_dead_letter(execution.kind, ending.status);
  expiries.emplace(*execution.expires_at, execution.id);
  if (execution.dead) { queue.dead.emplace(*execution.expires_at, execution.id); }
  execution.waiting = false;
  execution.stuck.clear();
  execution.progress.reset();
  execution.progress_message.clear();
  notify_waiters(record, now);
}

void State::add_attempt(Record& record, std::string outcome, std::optional<ErrorInfo> error, Time started_at,
                        Time now) {
  record.attempts.push_back({.number = record.execution.attempt,
                             .worker = record.execution.worker,
                             .started_at = started_at,
                             .ended_at = now,
                             .outcome = std::move(outcome),
                             .error = std::move(error)});
}

void State::leave_dead_letters(Record& record) {
  Execution& execution = record.execution;
  execution.dead = false;
  queues[execution.queue].dead.erase({*execution.expires_at, execution.id});
}

void State::forget_guard(Record& record) {
  const Execution& execution = record.execution;
  const Uuid id = execution.id;
  if (execution.status == Status::running) { leave_session(record); }
  if (execution.identity) {
    const auto held = identities.find(*execution.identity);
    if (held != identities.end() && held->second.execution == id) { identities.erase(held); }
  }
  if (execution.expires_at) { expiries.erase({*execution.expires_at, id}); }
  records.erase(id);
}

void State::leave_session(Record& record) {
  Execution& execution = record.execution;
  queues[execution.queue].running -= 1;
  if (Key* const key = key_of(record)) { key->load.running -= 1; }
  if (execution.kind != Kind::workflow) {
    execution.progress.reset();
    execution.progress_message.clear();
  }
  const auto session = sessions.find(*execution.session);
  if (session != sessions.end()) { session->second.running.erase(execution.id); }
  if (const auto left = guards_without_session.find(*execution.session); left != guards_without_session.end()) {
    left->second.erase(execution.id);
    if (left->second.empty()) { guards_without_session.erase(left); }
  }
}

}  // namespace hapax::store::memory
