// Pending executions in the order of their queue, and the limit keys behind which they are parked.
#include "store/memory/state.hpp"

#include <algorithm>

namespace hapax::store::memory {

namespace {

ReadyKey ready_key(const Execution& execution) { return {execution.priority, execution.run_at, execution.id}; }

Key::Place park_place(const Record& record) {
  const Execution& execution = record.execution;
  const bool ordered = execution.limit_key->ordered;
  return {ordered ? record.sequence : 0, ordered ? ReadyKey{} : ready_key(execution)};
}

}  // namespace

void State::promote(Queue& queue, Time now) {
  while (!queue.delayed.empty() && queue.delayed.begin()->first.first <= now) {
    Record& record = *queue.delayed.begin()->second;
    queue.delayed.erase(queue.delayed.begin());
    enter_queue(record, now);
  }
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
  int left = parked_considered_max;
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
    if (name.ordered || before < room) { unpark_one(*record, now); }
  }
}

void State::unpark_all(Queue& queue, Time now) {
  for (auto& [name, key] : queue.keys) {
    while (!key.parked.empty()) { unpark_one(*key.parked.begin()->second, now); }
  }
}

void State::unpark_one(Record& record, Time now) {
  leave_queue(record);
  enter_queue(record, now);
}

}  // namespace hapax::store::memory
