#include "store/sqlite/limited.hpp"

#include "model/claim_limits.hpp"
#include "store/sqlite/line.hpp"
#include "store/sqlite/live_row.hpp"

#include <vector>

namespace hapax::store::sqlite {

namespace {

constexpr const char* join_sql =
    "INSERT INTO limited(execution, queue_id, state, limit_key, rank, run_at) VALUES (?, ?, 0, ?, ?, ?)";
// Three looks at the end of the key's stretches of the index.
constexpr const char* last_rank_sql =
    "SELECT max(coalesce((SELECT max(rank) FROM limited WHERE queue_id = ?1 AND state = 0 AND limit_key = ?2), 0),"
    " coalesce((SELECT max(rank) FROM limited WHERE queue_id = ?1 AND state = 1 AND limit_key = ?2), 0),"
    " coalesce((SELECT max(rank) FROM limited WHERE queue_id = ?1 AND state = 2 AND limit_key = ?2), 0))";
constexpr const char* leave_sql = "DELETE FROM limited WHERE execution = ?";
constexpr const char* wait_sql = "UPDATE limited SET state = 0, run_at = ?, session = NULL WHERE execution = ?";
constexpr const char* start_sql = "UPDATE limited SET state = 1, session = ? WHERE execution = ?";
constexpr const char* start_ordered_sql = "UPDATE limited SET state = 1, session = ?, rank = ? WHERE execution = ?";
constexpr const char* count_sql =
    "INSERT INTO limited(execution, queue_id, state, rank, run_at, session) VALUES (?, ?, 1, 0, 0, ?)";
constexpr const char* mark_all_sql =
    "UPDATE live SET counted = 1 WHERE id IN (SELECT id FROM live INDEXED BY live_line WHERE line < 0 AND queue_id = ?)"
    " AND limit_key IS NULL";
constexpr const char* count_all_sql =
    "INSERT OR IGNORE INTO limited(execution, queue_id, state, rank, run_at, session)"
    " SELECT id, queue_id, 1, 0, 0, session FROM live INDEXED BY live_line"
    " WHERE line < 0 AND queue_id = ? AND counted = 1";
constexpr const char* park_live_sql = "UPDATE live SET line = ?, state = 3 WHERE id = ?";
constexpr const char* park_sql = "UPDATE limited SET state = 2 WHERE execution = ?";
constexpr const char* next_parked_sql =
    "SELECT execution FROM limited INDEXED BY limited_order WHERE queue_id = ? AND state = 2 AND limit_key = ?"
    " ORDER BY rank, run_at, execution LIMIT 1";
constexpr const char* all_parked_sql =
    "SELECT execution FROM limited INDEXED BY limited_order WHERE queue_id = ? AND state = 2";
constexpr const char* parked_live_sql = "SELECT priority, lost FROM live WHERE id = ?";
constexpr const char* unpark_live_sql = "UPDATE live SET line = ?, state = 0 WHERE id = ?";
constexpr const char* unpark_sql = "UPDATE limited SET state = 0 WHERE execution = ?";

std::int64_t tail_of(WriteTransaction& tx, const KeyMember& member) {
  if (!is_ordered(member.key)) { return -member.priority; }
  Cursor cursor = tx.db().use(last_rank_sql);
  return cursor.bind(member.queue_id, member.key).next() ? cursor.integer(0) + 1 : 1;
}

void put_in_line(WriteTransaction& tx, std::int64_t queue_id, const Uuid& id) {
  std::int64_t place = 0;
  {
    Cursor cursor = tx.db().use(parked_live_sql);
    if (!cursor.bind(id).next()) { return; }
    place = line::due(queue_id, cursor.small(0), cursor.small(1));
  }
  tx.db().use(unpark_live_sql).bind(place, id).run();
  tx.db().use(unpark_sql).bind(id).run();
}

}  // namespace

bool is_ordered(std::string_view key) { return key.starts_with("o:"); }

void join_key(WriteTransaction& tx, const KeyMember& member) {
  const std::int64_t rank = tail_of(tx, member);
  tx.db().use(join_sql).bind(member.id, member.queue_id, member.key, rank, member.run_at).run();
}

void leave_key(WriteTransaction& tx, const Uuid& id, std::int64_t queue_id, std::string_view key) {
  tx.db().use(leave_sql).bind(id).run();
  unpark_one(tx, queue_id, key);
}

void key_waits(WriteTransaction& tx, const KeyMember& member, bool ran) {
  tx.db().use(wait_sql).bind(member.run_at, member.id).run();
  // An ordered one is the head of its key until it ends.
  if (ran && !is_ordered(member.key)) { unpark_one(tx, member.queue_id, member.key); }
}

void key_starts(WriteTransaction& tx, const Uuid& id, std::string_view key, const Uuid& session) {
  if (is_ordered(key)) {
    tx.db().use(start_ordered_sql).bind(session, head_sequence, id).run();
  } else {
    tx.db().use(start_sql).bind(session, id).run();
  }
}

void count_running(WriteTransaction& tx, const Uuid& id, std::int64_t queue_id, const Uuid& session) {
  tx.db().use(count_sql).bind(id, queue_id, session).run();
}

void uncount_running(WriteTransaction& tx, const Uuid& id) { tx.db().use(leave_sql).bind(id).run(); }

void count_all_running(WriteTransaction& tx, std::int64_t queue_id) {
  tx.db().use(mark_all_sql).bind(queue_id).run();
  tx.db().use(count_all_sql).bind(queue_id).run();
}

void park(WriteTransaction& tx, const Uuid& id, std::int64_t queue_id, int priority) {
  tx.db().use(park_live_sql).bind(line::within(line::parked(queue_id), priority), id).run();
  tx.db().use(park_sql).bind(id).run();
}

void unpark_one(WriteTransaction& tx, std::int64_t queue_id, std::string_view key) {
  Uuid id;
  {
    Cursor cursor = tx.db().use(next_parked_sql);
    if (!cursor.bind(queue_id, key).next()) { return; }
    id = cursor.uuid(0);
  }
  put_in_line(tx, queue_id, id);
}

void unpark_all(WriteTransaction& tx, std::int64_t queue_id) {
  std::vector<Uuid> parked;
  {
    Cursor cursor = tx.db().use(all_parked_sql);
    cursor.bind(queue_id);
    while (cursor.next()) { parked.push_back(cursor.uuid(0)); }
  }
  for (const Uuid& id : parked) { put_in_line(tx, queue_id, id); }
}

}  // namespace hapax::store::sqlite
