#include "model/queue_key.hpp"
#include "model/queue_patch.hpp"
#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

namespace {

constexpr Duration throughput_window = std::chrono::minutes(1);

bool is_ordered(const Record& record) {
  return record.execution.limit_key.has_value() && record.execution.limit_key->ordered;
}

bool may_be_purged(const Record& record) {
  return record.execution.kind != Kind::workflow || record.execution.fence == 0;
}

bool may_be_moved(const Record&) { return true; }

// At most `limit` of the queue's pending executions that `may_go` accepts. Executions of ordered keys come first, by
// sequence and whatever their state, so that the limit leaves behind the later ones of a key. Then come all others, due
// ones first.
std::vector<Record*> pending(const Queue& queue, int limit, bool (*may_go)(const Record&)) {
  std::vector<Record*> some;
  const auto take = [&](const auto& line, bool ordered) {
    for (auto next = line.begin(); next != line.end() && std::ssize(some) < limit; ++next) {
      Record* const record = next->second;
      if (record->execution.status == Status::pending && is_ordered(*record) == ordered && may_go(*record)) {
        some.push_back(record);
      }
    }
  };
  for (const auto& [name, key] : queue.keys) {
    if (name.ordered) { take(key.members, true); }
  }
  take(queue.ready, false);
  take(queue.suspects, false);
  for (const auto& [name, key] : queue.keys) { take(key.parked, false); }
  take(queue.delayed, false);
  return some;
}

std::optional<Duration> oldest_ready(const Queue& queue, Time now) {
  std::optional<Time> oldest;
  for (const auto* line : {&queue.ready, &queue.suspects}) {
    for (const auto& [key, record] : *line) { oldest = oldest ? std::min(*oldest, key.run_at) : key.run_at; }
  }
  return oldest ? std::optional(now - *oldest) : std::nullopt;
}

void drop_old_ticks(Queue& queue, Time now) {
  while (!queue.throughput.empty() && queue.throughput.front().at <= now - throughput_window) {
    queue.throughput.pop_front();
  }
}

}  // namespace

void configure_queue(State& state, const QueueRef& name, const QueuePatch& patch, Time now) {
  Queue& queue = state.queues[name];
  const QueueLimits before = queue.settings.limits;
  apply_patch(queue.settings, patch);
  const QueueLimits& limits = queue.settings.limits;
  if (limits != before) { state.unpark_all(queue, now); }
  if (limits.rate != before.rate) { queue.arrival = arrival_under(limits.rate, queue.arrival, now); }
  if (limits.key_rate != before.key_rate) {
    for (auto& [key, kept] : queue.keys) { kept.load.arrival = arrival_under(limits.key_rate, kept.load.arrival, now); }
  }
  if (!patch.actor.empty()) {
    state.write_audit(name.namespace_name, patch.actor, "queue.configure", name.name, describe_patch(patch), now);
  }
}

std::vector<QueueInfo> queues(State& state, std::string_view namespace_name, Time now) {
  std::vector<QueueInfo> infos;
  for (auto& [name, queue] : state.queues) {
    if (name.namespace_name != namespace_name) { continue; }
    state.promote(queue, now);
    drop_old_ticks(queue, now);
    QueueInfo info;
    info.queue = name;
    info.settings = queue.settings;
    info.rate_arrival = queue.arrival;
    info.ready = std::ssize(queue.ready) + std::ssize(queue.suspects);
    info.delayed = std::ssize(queue.delayed);
    info.parked = queue.parked;
    info.running = queue.running;
    info.dead = std::count_if(queue.dead.begin(), queue.dead.end(),
                              [now](const TimedId& letter) { return letter.first > now; });
    info.oldest_ready = oldest_ready(queue, now);
    for (const ThroughputTick& tick : queue.throughput) {
      info.completed_last_minute += tick.completed;
      info.failed_last_minute += tick.failed;
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

int purge(State& state, const QueueRef& queue, int limit, Time now) {
  const auto found = state.queues.find(queue);
  if (found == state.queues.end()) { return 0; }
  const std::vector<Record*> doomed = pending(found->second, limit, may_be_purged);
  for (Record* const record : doomed) {
    state.end(*record, {.status = Status::cancelled, .error = cancelled_error("purged")}, now);
  }
  return static_cast<int>(doomed.size());
}

int move(State& state, const QueueRef& from, const QueueRef& to, int limit, Time now) {
  const auto found = state.queues.find(from);
  if (found == state.queues.end() || from == to) { return 0; }
  state.queues.try_emplace(to);
  const std::vector<Record*> moving = pending(found->second, limit, may_be_moved);
  const QueueKeys keys(from, catalogue(state, from.namespace_name));
  for (const Record* const record : moving) {
    const Execution& execution = record->execution;
    keys.check_leaving({.task = execution.task, .identity = execution.identity, .key = execution.identity_key});
  }
  for (Record* const record : moving) {
    state.leave_queue(*record);
    state.leave_key(*record, now);
    record->execution.queue = to;
    state.join_key(*record);
    state.enter_queue(*record, now);
  }
  return static_cast<int>(moving.size());
}

void count_finished(State& state, const QueueCount& count, Time now) {
  Queue& queue = state.queues[count.queue];
  drop_old_ticks(queue, now);
  queue.throughput.push_back({.at = now, .completed = count.completed, .failed = count.failed});
}

}  // namespace hapax::store::memory
