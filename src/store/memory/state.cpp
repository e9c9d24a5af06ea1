#include "store/memory/state.hpp"

#include "base/text.hpp"
#include "model/effect_key.hpp"
#include "model/labels.hpp"
#include "model/retention.hpp"

#include <algorithm>

namespace hapax::store::memory {

namespace {

ReadyKey ready_key(const Execution& execution) { return {execution.priority, execution.run_at, execution.id}; }

bool abandoned(const State& state, const Execution& execution, Time now) {
  if (execution.kind != Kind::guard || execution.status != Status::running) { return false; }
  const auto session = state.sessions.find(*execution.session);
  const std::optional<Time> lease_until =
      session == state.sessions.end() ? std::nullopt : std::optional(session->second.expires_at);
  return is_abandoned(execution.kind, execution.attempt_timeout, lease_until, now);
}

Key::Place park_place(const Record& record) {
  const Execution& execution = record.execution;
  const bool ordered = execution.limit_key->ordered;
  return {ordered ? record.sequence : 0, ordered ? ReadyKey{} : ready_key(execution)};
}

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

void State::promote(Queue& queue, Time now) {
  while (!queue.delayed.empty() && queue.delayed.begin()->first.first <= now) {
    Record& record = *queue.delayed.begin()->second;
    queue.delayed.erase(queue.delayed.begin());
    enter_queue(record, now);
  }
}

std::optional<base::Digest> State::name_owner(const base::Digest& name) const {
  const auto named = names.find(name);
  if (named == names.end()) { return std::nullopt; }
  const auto held = identities.find(named->second);
  return held != identities.end() && held->second.name == name ? std::optional(named->second) : std::nullopt;
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
  // The execution may have been the claimable one of its key.
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
    guards_left[session->first].emplace(id, record);
  }
  sessions.erase(session);
}

void State::abandon(Record& record) {
  Execution& execution = record.execution;
  sessions.at(*execution.session).running.erase(execution.id);
  execution.session = Uuid{};
  execution.worker.clear();
}

void State::wait(Record& record, Time run_at, Time now, Next next) {
  leave_session(record);
  Execution& execution = record.execution;
  execution.status = Status::pending;
  execution.run_at = run_at;
  execution.session.reset();
  execution.worker.clear();
  execution.started_at.reset();
  enter_queue(record, now);
  const std::optional<LimitKey>& key = execution.limit_key;
  if (key && !key->ordered && next == Next::may_go) { unpark(queues[execution.queue], *key, now); }
}

void State::release(Record& record, Time now) {
  if (record.to_be_cancelled()) {
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
  tell_waiters(record, now);
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
        buried_in[held->first] = execution.queue.ns;
      } else {
        identities.erase(held);
      }
    }
  }
  expiries.erase({*execution.expires_at, id});
  if (execution.parent) { children.erase({*execution.parent, id}); }
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
  if (Key* const key = key_of(record)) { key->waiting.emplace(park_place(record), &record); }
}

void State::leave_queue(Record& record) {
  const Execution& execution = record.execution;
  Queue& queue = queues[execution.queue];
  if (execution.parked) {
    record.execution.parked = false;
    queue.parked -= 1;
    key_of(record)->parked.erase(park_place(record));
    return;
  }
  if (Key* const key = key_of(record)) { key->waiting.erase(park_place(record)); }
  if (queue.delayed.erase({execution.run_at, execution.id}) == 0) {
    (execution.lost > 0 ? queue.suspects : queue.ready).erase(ready_key(execution));
  }
}

void State::join_key(Record& record) {
  const Execution& execution = record.execution;
  if (!execution.limit_key) { return; }
  Queue& queue = queues[execution.queue];
  queue.keyed = true;
  Key& key = queue.keys[*execution.limit_key];
  record.sequence = ++last_sequence;
  key.members.emplace(record.sequence, &record);
}

void State::leave_key(Record& record, Time now) {
  const Execution& execution = record.execution;
  if (!execution.limit_key) { return; }
  Queue& queue = queues[execution.queue];
  const auto found = queue.keys.find(*execution.limit_key);
  Key& key = found->second;
  key.members.erase(record.sequence);
  unpark(queue, found->first, now);
  // A rate that has not recovered yet outlives the executions that used it.
  const bool idle = key.members.empty() && (!key.load.arrival || *key.load.arrival <= now);
  if (idle) { queue.keys.erase(found); }
}

Key* State::key_of(const Record& record) {
  const Execution& execution = record.execution;
  return execution.limit_key ? &queues[execution.queue].keys.at(*execution.limit_key) : nullptr;
}

std::optional<Keyed> State::keyed(const Record& record) {
  Key* const key = key_of(record);
  if (key == nullptr) { return std::nullopt; }
  return Keyed{.load = &key->load,
               .ordered = record.execution.limit_key->ordered,
               .first = key->members.begin()->second == &record};
}

void State::park(Record& record) {
  leave_queue(record);
  record.execution.parked = true;
  queues[record.execution.queue].parked += 1;
  key_of(record)->parked.emplace(park_place(record), &record);
}

std::vector<Record*> State::next_parked(const LimitKey& name, const Key& key) const {
  std::vector<Record*> next;
  if (key.parked.empty()) { return next; }
  Record* const first = key.parked.begin()->second;
  if (name.ordered) {
    if (key.members.begin()->second == first) { next.push_back(first); }
    return next;
  }
  std::set<std::string_view> seen;
  int left = parked_look;
  for (auto one = key.parked.begin(); one != key.parked.end() && left > 0; ++one, --left) {
    if (seen.insert(one->second->execution.task).second) { next.push_back(one->second); }
  }
  return next;
}

void State::unpark(Queue& queue, const LimitKey& name, Time now, int heaviest) {
  const Key& key = queue.keys.at(name);
  const std::int64_t room = key_limit(queue.settings.limits, name.ordered) - key.load.running;
  const std::vector<Record*> next = next_parked(name, key);
  if (room <= 0 || next.empty() || next.front()->execution.weight > heaviest) { return; }
  for (Record* const record : next) {
    if (record->execution.weight > heaviest) { continue; }
    const auto place = key.waiting.lower_bound(park_place(*record));
    const auto before = std::count_if(key.waiting.begin(), place, [&](const auto& one) {
      return one.second->execution.task == record->execution.task && one.second->execution.run_at <= now;
    });
    if (name.ordered || before < room) { put_in_line(*record, now); }
  }
}

void State::unpark_all(Queue& queue, Time now) {
  for (auto& [name, key] : queue.keys) {
    while (!key.parked.empty()) { put_in_line(*key.parked.begin()->second, now); }
  }
}

void State::put_in_line(Record& record, Time now) {
  leave_queue(record);
  enter_queue(record, now);
}

void State::note(std::string_view ns, std::string_view actor, std::string action, std::string subject,
                 std::string detail, Time now) {
  audit.push_back({.at = now,
                   .ns = std::string(ns),
                   .actor = std::string(actor),
                   .action = std::move(action),
                   .subject = std::move(subject),
                   .detail = std::move(detail)});
}

void State::note_act(const Actor& by, std::string action, const Execution& execution, std::string_view detail,
                     Time now) {
  if (!by.is_known()) { return; }
  note(execution.queue.ns, by.name, std::move(action), execution.id.to_string(), base::escape_invalid(detail), now);
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
  if (const auto left = guards_left.find(*execution.session); left != guards_left.end()) {
    left->second.erase(execution.id);
    if (left->second.empty()) { guards_left.erase(left); }
  }
}

}  // namespace hapax::store::memory
