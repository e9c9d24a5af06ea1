#include "store/sqlite/waiters.hpp"

#include "model/labels.hpp"
#include "model/refusal.hpp"
#include "store/sqlite/events.hpp"

#include <vector>

namespace hapax::store::sqlite {

namespace {

constexpr const char* waiters_add_sql = "INSERT OR IGNORE INTO waiters(execution, waiter, position) VALUES (?, ?, ?)";
constexpr const char* mark_sql = "UPDATE live SET waited = 1 WHERE id = ?";
constexpr const char* waiters_ended_sql =
    "SELECT status, result, error, continued_as FROM history WHERE id = ? AND expires_at > ?";
constexpr const char* waiters_sql =
    "SELECT waiter, position FROM waiters WHERE execution = ? ORDER BY position, waiter";
constexpr const char* waiters_delete_sql = "DELETE FROM waiters WHERE execution = ?";
constexpr const char* pass_sql = "UPDATE waiters SET execution = ? WHERE execution = ?";

// Sends the waiter the event for an execution that has ended. If that run was continued, sends nothing and returns the
// next run.
std::optional<Uuid> send_ended(WriteTransaction& tx, const Uuid& awaited, const Waiter& waiter) {
  NewEvent event{.kind = EventKind::ended, .position = waiter.position, .child = awaited};
  Cursor ended = tx.db().use(waiters_ended_sql);
  if (!ended.bind(awaited, tx.now()).next()) {
    // The execution's record has been deleted; only its identity is still held.
    const std::string error = encode_error(expired_error());
    event.kind = EventKind::refused;
    event.error = error;
    send_event(tx, waiter.execution, event);
    return std::nullopt;
  }
  if (!ended.is_null(3)) { return ended.uuid(3); }
  event.status = static_cast<Status>(ended.small(0));
  event.data = ended.optional(1, &Cursor::text);
  event.error = ended.optional(2, &Cursor::text);
  send_event(tx, waiter.execution, event);
  return std::nullopt;
}

}  // namespace

void add_waiter(WriteTransaction& tx, const Uuid& awaited, const Waiter& waiter) {
  tx.db().use(waiters_add_sql).bind(awaited, waiter.execution, waiter.position).run();
}

void wait_for(WriteTransaction& tx, const Uuid& awaited, const Waiter& waiter) {
  for (std::optional<Uuid> next = awaited; next;) {
    const Uuid one = *next;
    tx.db().use(mark_sql).bind(one).run();
    if (tx.db().changes() > 0) {
      add_waiter(tx, one, waiter);
      return;
    }
    next = send_ended(tx, one, waiter);
  }
}

void notify_waiters(WriteTransaction& tx, const Uuid& ended, const Ending& ending) {
  std::vector<Waiter> waiters;
  {
    Cursor cursor = tx.db().use(waiters_sql);
    cursor.bind(ended);
    while (cursor.next()) { waiters.push_back({.execution = cursor.uuid(0), .position = cursor.small(1)}); }
  }
  tx.db().use(waiters_delete_sql).bind(ended).run();
  NewEvent event{.kind = EventKind::ended, .status = ending.status, .child = ended, .data = ending.result};
  if (ending.error) { event.error = *ending.error; }
  for (const Waiter& waiter : waiters) {
    event.position = waiter.position;
    send_event(tx, waiter.execution, event);
  }
}

void pass_waiters(WriteTransaction& tx, const Uuid& from, const Uuid& to) {
  tx.db().use(pass_sql).bind(to, from).run();
}

}  // namespace hapax::store::sqlite
