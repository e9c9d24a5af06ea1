// The journal of an execution: 1 SELECT and 1 INSERT an entry, one fdatasync a call.
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* running_sql = "SELECT 1 FROM live WHERE id = ? AND state = 1 AND fence = ?";
constexpr const char* append_sql =
    "INSERT INTO journal(execution, position, fence, kind, name, data, at) VALUES (?,?,?,?,?,?,?)";
constexpr const char* known_sql =
    "SELECT 1 FROM live WHERE id = ?1 UNION ALL SELECT 1 FROM history WHERE id = ?1 AND expires_at > ?2";
constexpr const char* read_sql =
    "SELECT position, fence, kind, name, data, at FROM journal WHERE execution = ? ORDER BY position";

}  // namespace

FinishVerdict journal_append(WriteTransaction& tx, const JournalEntry& entry) {
  {
    Cursor running = tx.db().use(running_sql);
    if (!running.bind(entry.execution, entry.fence).next()) { return FinishVerdict::stale; }
  }
  Cursor cursor = tx.db().use(append_sql);
  cursor.bind(entry.execution, entry.position, entry.fence, entry.kind, entry.name, entry.data, tx.now());
  return cursor.run_unless_taken() ? FinishVerdict::accepted : FinishVerdict::stale;
}

std::vector<JournalEntry> journal_read(ReadTransaction& tx, const Uuid& execution) {
  {
    Cursor known = tx.db().use(known_sql);
    if (!known.bind(execution, tx.now()).next()) { return {}; }
  }
  std::vector<JournalEntry> entries;
  Cursor cursor = tx.db().use(read_sql);
  cursor.bind(execution);
  while (cursor.next()) {
    entries.push_back({.execution = execution,
                       .fence = cursor.integer(1),
                       .position = cursor.small(0),
                       .kind = static_cast<std::uint8_t>(cursor.small(2)),
                       .name = cursor.string(3),
                       .data = cursor.string(4),
                       .at = cursor.time(5)});
  }
  return entries;
}

}  // namespace hapax::store::sqlite
