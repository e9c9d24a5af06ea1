// The journal of an execution: 1 SELECT and 1 INSERT per entry, one fdatasync per call. A workflow's history: 3
// SELECTs.
#include "model/labels.hpp"
#include "store/sqlite/events.hpp"
#include "store/sqlite/verbs.hpp"

#include <limits>

namespace hapax::store::sqlite {

namespace {

constexpr const char* journal_running_sql = "SELECT 1 FROM live WHERE id = ? AND state = 1 AND fence = ?";
constexpr const char* append_sql =
    "INSERT INTO journal(execution, position, fence, kind, name, data, at) VALUES (?,?,?,?,?,?,?)";
constexpr const char* known_sql =
    "SELECT 1 FROM live WHERE id = ?1 UNION ALL SELECT 1 FROM history WHERE id = ?1 AND expires_at > ?2";
constexpr const char* journal_read_sql =
    "SELECT position, fence, kind, name, data, at, child FROM journal WHERE execution = ? AND position >= ?"
    " ORDER BY position";

bool is_known(ReadTransaction& tx, const Uuid& execution) {
  Cursor known = tx.db().use(known_sql);
  return known.bind(execution, tx.now()).next();
}

std::vector<JournalEntry> read_entries(ReadTransaction& tx, const Uuid& execution, std::int32_t from) {
  std::vector<JournalEntry> entries;
  Cursor cursor = tx.db().use(journal_read_sql);
  cursor.bind(execution, from);
  while (cursor.next()) {
    entries.push_back({.execution = execution,
                       .fence = cursor.integer(1),
                       .position = cursor.small(0),
                       .kind = static_cast<std::uint8_t>(cursor.small(2)),
                       .name = cursor.string(3),
                       .data = cursor.string(4),
                       .at = cursor.time(5),
                       .start = nullptr,
                       .child = cursor.optional(6, &Cursor::uuid)});
  }
  return entries;
}

}  // namespace

FinishVerdict journal_append(WriteTransaction& tx, const JournalEntry& entry) {
  {
    Cursor running = tx.db().use(journal_running_sql);
    if (!running.bind(entry.execution, entry.fence).next()) { return FinishVerdict::stale; }
  }
  Cursor cursor = tx.db().use(append_sql);
  cursor.bind(entry.execution, entry.position, entry.fence, entry.kind, entry.name, entry.data, tx.now());
  return cursor.run_unless_taken() ? FinishVerdict::accepted : FinishVerdict::stale;
}

std::vector<JournalEntry> journal_read(ReadTransaction& tx, const Uuid& execution) {
  if (!is_known(tx, execution)) { return {}; }
  return read_entries(tx, execution, std::numeric_limits<std::int32_t>::min());
}

History history(ReadTransaction& tx, const HistoryRequest& request) {
  if (!is_known(tx, request.execution)) { return {}; }
  return {.entries = read_entries(tx, request.execution, request.from_position),
          .events = read_events(tx.db(), request.execution, request.after_event)};
}

FinishVerdict relabel(WriteTransaction& tx, const Held& held, const Labels& labels) {
  {
    Cursor running = tx.db().use(journal_running_sql);
    if (!running.bind(held.id, held.fence).next()) { return FinishVerdict::stale; }
  }
  tx.db().use("UPDATE live SET labels = ? WHERE id = ?").bind(encode_labels(labels), held.id).run();
  return FinishVerdict::accepted;
}

}  // namespace hapax::store::sqlite
