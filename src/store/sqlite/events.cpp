#include "store/sqlite/events.hpp"

#include "model/labels.hpp"
#include "store/sqlite/claim_order.hpp"
#include "store/sqlite/park.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* recipient_sql =
    "SELECT kind, state, finish_kind, run_at, queue_id, priority, lost, limit_key FROM live WHERE id = ?";
// Numbered by the stored events, not by live.inbox: an execution with that id may have existed before.
constexpr const char* events_insert_sql =
    "INSERT INTO events(execution, number, kind, at, position, status, child, name, error, data)"
    " VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM events WHERE execution = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
    " ?9) RETURNING number";
constexpr const char* inbox_sql = "UPDATE live SET inbox = ? WHERE id = ?";
constexpr const char* wake_sql = "UPDATE live SET inbox = ?, line = ?, state = 0, run_at = ? WHERE id = ?";
constexpr const char* signal_key_sql = "INSERT INTO signal_keys(execution, signal_key) VALUES (?, ?)";
constexpr const char* carry_sql =
    "INSERT INTO events(execution, number, kind, at, position, status, name, error, data)"
    " SELECT ?1, row_number() OVER (ORDER BY number), kind, ?2, position, status, name, error, data FROM events"
    " WHERE execution = ?3 AND (kind IN (0, 3) AND number > ?4"
    " OR kind = 0 AND number IN (SELECT json_each.value FROM json_each(?5)))";
constexpr const char* carry_keys_sql = "UPDATE OR IGNORE signal_keys SET execution = ? WHERE execution = ?";
constexpr const char* read_sql =
    "SELECT number, kind, at, position, status, child, name, error, data FROM events WHERE execution = ? AND number > ?"
    " ORDER BY number";
constexpr const char* delete_sql = "DELETE FROM events WHERE execution = ?";
constexpr const char* delete_keys_sql = "DELETE FROM signal_keys WHERE execution = ?";

std::int64_t insert(WriteTransaction& tx, const Uuid& execution, const NewEvent& event) {
  Cursor cursor = tx.db().use(events_insert_sql);
  cursor.bind(execution, static_cast<int>(event.kind), tx.now(), event.position, static_cast<int>(event.status),
              event.child, event.name, event.error, event.data);
  const std::int64_t number = cursor.next() ? cursor.integer(0) : 0;
  cursor.run();
  return number;
}

std::string as_json(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) { text += (text.size() > 1 ? "," : "") + std::to_string(number); }
  return text + "]";
}

}  // namespace

std::optional<Recipient> find_recipient(WriteTransaction& tx, const Uuid& id) {
  Cursor cursor = tx.db().use(recipient_sql);
  if (!cursor.bind(id).next()) { return std::nullopt; }
  Recipient recipient{.id = id,
                      .kind = static_cast<Kind>(cursor.small(0)),
                      .state = static_cast<LiveState>(cursor.small(1)),
                      .queue_id = cursor.integer(4),
                      .priority = cursor.small(5),
                      .lost = cursor.small(6),
                      .limit_key = cursor.optional(7, &Cursor::string)};
  recipient.sleeps = recipient.state == LiveState::delayed && !cursor.is_null(2) &&
                     static_cast<FinishKind>(cursor.small(2)) == FinishKind::waiting && cursor.time(3) > tx.now();
  return recipient;
}

void send_event(WriteTransaction& tx, const Recipient& recipient, const NewEvent& event) {
  const std::int64_t number = insert(tx, recipient.id, event);
  if (!recipient.sleeps) {
    tx.db().use(inbox_sql).bind(number, recipient.id).run();
    return;
  }
  const std::int64_t place = claim_order::due(recipient.queue_id, recipient.priority, recipient.lost);
  tx.db().use(wake_sql).bind(number, place, tx.now(), recipient.id).run();
  if (recipient.limit_key) {
    key_waits(tx,
              {.id = recipient.id,
               .queue_id = recipient.queue_id,
               .key = *recipient.limit_key,
               .priority = recipient.priority,
               .run_at = tx.now()},
              false);
  }
  tx.note_woken(recipient.queue_id);
}

void send_event(WriteTransaction& tx, const Uuid& id, const NewEvent& event) {
  if (const std::optional<Recipient> recipient = find_recipient(tx, id)) { send_event(tx, *recipient, event); }
}

bool is_first_signal(WriteTransaction& tx, const Uuid& execution, std::string_view key) {
  return tx.db().use(signal_key_sql).bind(execution, key).run_unless_taken();
}

void carry_signals(WriteTransaction& tx, const Uuid& from, const Uuid& to, const Turn& turn) {
  const std::string carried = as_json(turn.carried);
  tx.db().use(carry_sql).bind(to, tx.now(), from, turn.seen, carried).run();
  if (const int count = tx.db().changes(); count > 0) { tx.db().use(inbox_sql).bind(count, to).run(); }
  tx.db().use(carry_keys_sql).bind(to, from).run();
}

void seed_events(WriteTransaction& tx, const Uuid& execution, const std::vector<Event>& events) {
  std::int64_t number = 0;
  for (const Event& event : events) {
    const std::optional<std::string> error = event.error ? std::optional(encode_error(*event.error)) : std::nullopt;
    number = insert(tx, execution,
                    {.kind = event.kind,
                     .position = event.position,
                     .status = event.status,
                     .child = event.child,
                     .name = event.name,
                     .error = error,
                     .data = event.data});
  }
  if (number > 0) { tx.db().use(inbox_sql).bind(number, execution).run(); }
}

std::vector<Event> read_events(Connection& db, const Uuid& execution, std::int64_t after) {
  std::vector<Event> events;
  Cursor cursor = db.use(read_sql);
  cursor.bind(execution, after);
  while (cursor.next()) {
    Event& event = events.emplace_back();
    event.execution = execution;
    event.number = cursor.integer(0);
    event.kind = static_cast<EventKind>(cursor.small(1));
    event.at = cursor.time(2);
    event.position = cursor.small(3);
    event.status = static_cast<Status>(cursor.small(4));
    event.child = cursor.optional(5, &Cursor::uuid);
    event.name = cursor.string(6);
    if (!cursor.is_null(7)) { event.error = decode_error(cursor.text(7)); }
    event.data = cursor.optional(8, &Cursor::string);
  }
  return events;
}

void forget_events(WriteTransaction& tx, const Uuid& execution) {
  tx.db().use(delete_sql).bind(execution).run();
  tx.db().use(delete_keys_sql).bind(execution).run();
}

}  // namespace hapax::store::sqlite
