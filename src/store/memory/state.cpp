#include "store/memory/state.hpp"

#include "model/effect_key.hpp"
#include "model/labels.hpp"

namespace hapax::store::memory {

namespace {

ReadyKey ready_key(const Execution& execution) { return {execution.priority, execution.run_at, execution.id}; }

}  // namespace

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

Record* State::find_holder(const base::Digest& identity, Time now) {
  const auto held = identities.find(identity);
  return held == identities.end() ? nullptr : find(held->second.execution, now);
}

void State::promote(Queue& queue, Time now) {
  while (!queue.delayed.empty() && queue.delayed.begin()->first.first <= now) {
    Record& record = *queue.delayed.begin()->second;
    queue.delayed.erase(queue.delayed.begin());
    enter_queue(record, now);
  }
}

Record& State::insert(Record fresh, const std::optional<base::Digest>& fingerprint, Time now) {
  const Uuid id = fresh.execution.id;
  Record& record = records.emplace(id, std::move(fresh)).first->second;
  Execution& execution = record.execution;
  execution.effect_key = effect_key(record.stored_effect_key, execution.identity, id);
  if (execution.identity) { identities[*execution.identity] = {.execution = id, .fingerprint = fingerprint}; }
  if (execution.deadline) { deadlines.emplace(*execution.deadline, id); }
  enter_queue(record, now);
  return record;
}

void State::start(Record& record, Session& session, std::int64_t claim_number, Time now) {
  leave_queue(record);
  Execution& execution = record.execution;
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
}

void State::wait(Record& record, Time run_at, Time now) {
  leave_session(record);
  Execution& execution = record.execution;
  execution.status = Status::pending;
  execution.run_at = run_at;
  execution.session.reset();
  execution.worker.clear();
  execution.started_at.reset();
  enter_queue(record, now);
}

void State::release(Record& record, Time now) {
  if (record.execution.cancel_requested) {
    end(record, {.status = Status::cancelled, .error = cancelled_error(record.cancel_reason.value_or(""))}, now);
    return;
  }
  record.execution.attempt -= 1;
  wait(record, record.execution.run_at, now);
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
  Queue& queue = queues[execution.queue];
  const QueueSettings& settings = queue.settings;
  const Duration kept =
      ending.status == Status::completed ? settings.retention : settings.failed_retention.value_or(settings.retention);
  execution.status = ending.status;
  execution.result = std::move(ending.result);
  execution.error = std::move(ending.error);
  execution.finished_at = now;
  execution.expires_at = now + kept;
  execution.cancel_requested = false;
  execution.dead = ending.status == Status::failed;
  expiries.emplace(*execution.expires_at, execution.id);
  if (execution.dead) { queue.dead.emplace(*execution.expires_at, execution.id); }
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

void State::forget(Record& record) {
  leave_dead_letters(record);
  const Execution& execution = record.execution;
  const Uuid id = execution.id;
  if (execution.identity) {
    const auto held = identities.find(*execution.identity);
    if (held != identities.end() && held->second.execution == id) { identities.erase(held); }
  }
  expiries.erase({*execution.expires_at, id});
  records.erase(id);
}

void State::enter_queue(Record& record, Time now) {
  const Execution& execution = record.execution;
  Queue& queue = queues[execution.queue];
  if (execution.run_at > now) {
    queue.delayed.emplace(TimedId{execution.run_at, execution.id}, &record);
  } else {
    (execution.lost > 0 ? queue.suspects : queue.ready).emplace(ready_key(execution), &record);
  }
}

void State::leave_queue(Record& record) {
  const Execution& execution = record.execution;
  Queue& queue = queues[execution.queue];
  if (queue.delayed.erase({execution.run_at, execution.id}) == 0) {
    (execution.lost > 0 ? queue.suspects : queue.ready).erase(ready_key(execution));
  }
}

void State::leave_session(Record& record) {
  Execution& execution = record.execution;
  queues[execution.queue].running -= 1;
  execution.progress.reset();
  execution.progress_message.clear();
  const auto session = sessions.find(*execution.session);
  if (session != sessions.end()) { session->second.running.erase(execution.id); }
}

}  // namespace hapax::store::memory
