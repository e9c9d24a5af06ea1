// Events of workflows (signals, ends of children, refusals, cancellations), and the journal entries that wait for the
// end of an execution.
#include "model/refusal.hpp"
#include "store/memory/verbs.hpp"

#include <utility>

namespace hapax::store::memory {

void add_event(Record& record, Event event, Time now) {
  event.execution = record.execution.id;
  event.number = static_cast<std::int64_t>(record.events.size()) + 1;
  event.at = now;
  record.events.push_back(std::move(event));
}

void State::send_event(Record& record, Event event, Time now) {
  add_event(record, std::move(event), now);
  Execution& execution = record.execution;
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
    // The execution's record has been deleted; only its identity is still held.
    send_event(records.at(waiter.execution),
               {.kind = EventKind::refused, .position = waiter.position, .child = awaited, .error = expired_error()},
               now);
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
  notify_waiters(*record, now);
}

void State::notify_waiters(Record& record, Time now) {
  const Execution& ended = record.execution;
  for (const Waiter& waiter : std::exchange(record.waiters, {})) {
    const auto found = records.find(waiter.execution);
    if (found == records.end() || is_terminal(found->second.execution.status)) { continue; }
    send_event(found->second,
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
