#include "store/sqlite/park.hpp"

#include "model/claim_limits.hpp"
#include "store/sqlite/claim_order.hpp"
#include "store/sqlite/live_row.hpp"

#include <set>
#include <utility>

namespace hapax::store::sqlite {

namespace {

constexpr const char* join_sql =
    "INSERT INTO limited(execution, queue_id, state, limit_key, rank, run_at) VALUES (?, ?, 0, ?, ?, ?)";
// Reads the end of each of the key's three ranges of the index.
constexpr const char* last_rank_sql =
    "SELECT max(coalesce((SELECT max(rank) FROM limited WHERE queue_id = ?1 AND state = 0 AND limit_key = ?2), 0),"
    " coalesce((SELECT max(rank) FROM limited WHERE queue_id = ?1 AND state = 1 AND limit_key = ?2), 0),"
    " coalesce((SELECT max(rank) FROM limited WHERE queue_id = ?1 AND state = 2 AND limit_key = ?2), 0))";
constexpr const char* leave_sql = "DELETE FROM limited WHERE execution = ?";
constexpr const char* wait_sql = "UPDATE limited SET state = 0, run_at = ?, session = NULL WHERE execution = ?";
constexpr const char* limited_start_sql = "UPDATE limited SET state = 1, session = ? WHERE execution = ?";
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
    "SELECT next.execution, live.task, live.priority, live.lost, next.rank, next.run_at, coalesce(live.weight, 1)"
    " FROM (SELECT execution, rank, run_at FROM limited INDEXED BY limited_order"
    " WHERE queue_id = ? AND state = 2 AND limit_key = ? ORDER BY rank, run_at, execution LIMIT ?) AS next"
    " CROSS JOIN live ON live.id = next.execution ORDER BY next.rank, next.run_at, next.execution";
constexpr const char* key_running_sql =
    "SELECT count(*) FROM limited INDEXED BY limited_order WHERE queue_id = ? AND state = 1 AND limit_key = ?";
// Reads the start of each of the key's three ranges of the index.
constexpr const char* preceded_sql =
    "SELECT 1 FROM limited INDEXED BY limited_order"
    " WHERE queue_id = ? AND state IN (0, 1, 2) AND limit_key = ? AND rank < ? LIMIT 1";
constexpr const char* claimable_before_sql =
    "SELECT count(*) FROM (SELECT 1 FROM limited INDEXED BY limited_order"
    " CROSS JOIN live ON live.id = limited.execution"
    " WHERE limited.queue_id = ?1 AND limited.state = 0 AND limited.limit_key = ?2 AND limited.rank <= ?3"
    " AND (limited.rank, limited.run_at, limited.execution) < (?3, ?4, ?5) AND limited.run_at <= ?6 AND live.task = ?7"
    " LIMIT ?8)";
constexpr const char* all_parked_sql =
    "SELECT live.id, live.priority, live.lost FROM limited INDEXED BY limited_order"
    " CROSS JOIN live ON live.id = limited.execution WHERE limited.queue_id = ? AND limited.state = 2";
constexpr const char* unpark_live_sql = "UPDATE live SET line = ?, state = 0 WHERE id = ?";
constexpr const char* unpark_sql = "UPDATE limited SET state = 0 WHERE execution = ?";

std::int64_t tail_of(WriteTransaction& tx, const KeyMember& member) {
  if (!is_ordered(member.key)) { return -member.priority; }
  Cursor cursor = tx.db().use(last_rank_sql);
  return cursor.bind(member.queue_id, member.key).next() ? cursor.integer(0) + 1 : 1;
}

void unpark_one(WriteTransaction& tx, std::int64_t place, const Uuid& id) {
  tx.db().use(unpark_live_sql).bind(place, id).run();
  tx.db().use(unpark_sql).bind(id).run();
}

// How many claimable executions of the same key and task come before the parked one, counted up to `most`.
std::int64_t claimable_before(WriteTransaction& tx, const NextParked& one, std::int64_t queue_id, std::string_view key,
                              std::int64_t most) {
  Cursor cursor = tx.db().use(claimable_before_sql);
  cursor.bind(queue_id, key, one.rank, one.run_at, one.id, tx.now(), one.task, most);
  return cursor.next() ? cursor.integer(0) : 0;
}

}  // namespace

bool is_ordered(std::string_view key) { return key.starts_with("o:"); }

void join_key(WriteTransaction& tx, const KeyMember& member) {
  const std::int64_t rank = tail_of(tx, member);
  tx.db().use(join_sql).bind(member.id, member.queue_id, member.key, rank, member.run_at).run();
}

void leave_key(WriteTransaction& tx, const Uuid& id, std::int64_t queue_id, std::string_view key) {
  tx.db().use(leave_sql).bind(id).run();
  unpark(tx, queue_id, key);
}

void key_waits(WriteTransaction& tx, const KeyMember& member, bool ran) {
  tx.db().use(wait_sql).bind(member.run_at, member.id).run();
  // A claimed execution of an ordered key stays the head of its key until it ends.
  if (ran && !is_ordered(member.key)) { unpark(tx, member.queue_id, member.key); }
}

void key_starts(WriteTransaction& tx, const Uuid& id, std::string_view key, const Uuid& session) {
  if (is_ordered(key)) {
    tx.db().use(start_ordered_sql).bind(session, head_sequence, id).run();
  } else {
    tx.db().use(limited_start_sql).bind(session, id).run();
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
  tx.db().use(park_live_sql).bind(claim_order::within(claim_order::parked(queue_id), priority), id).run();
  tx.db().use(park_sql).bind(id).run();
}

std::vector<NextParked> next_parked(WriteTransaction& tx, std::int64_t queue_id, std::string_view key) {
  const bool ordered = is_ordered(key);
  std::vector<NextParked> next;
  {
    std::set<std::string> tasks;
    Cursor cursor = tx.db().use(next_parked_sql);
    cursor.bind(queue_id, key, ordered ? 1 : parked_considered_max);
    while (cursor.next()) {
      if (!tasks.insert(cursor.string(1)).second) { continue; }
      next.push_back({.id = cursor.uuid(0),
                      .task = cursor.string(1),
                      .priority = cursor.small(2),
                      .lost = cursor.small(3),
                      .rank = cursor.integer(4),
                      .run_at = cursor.time(5),
                      .weight = cursor.small(6)});
    }
  }
  if (ordered && !next.empty() && is_preceded(tx, queue_id, key, next.front().rank)) { next.clear(); }
  return next;
}

void unpark(WriteTransaction& tx, std::int64_t queue_id, std::string_view key, int heaviest) {
  const std::vector<NextParked> next = next_parked(tx, queue_id, key);
  if (next.empty() || next.front().weight > heaviest) { return; }
  const bool ordered = is_ordered(key);
  const QueueLimits& limits = tx.queues().by_id(queue_id).settings.limits;
  const std::int64_t room = key_limit(limits, ordered) - key_running(tx, queue_id, key);
  if (room <= 0) { return; }
  for (const NextParked& one : next) {
    if (one.weight > heaviest || (!ordered && claimable_before(tx, one, queue_id, key, room) >= room)) { continue; }
    unpark_one(tx, claim_order::due(queue_id, one.priority, one.lost), one.id);
  }
}

std::int64_t key_running(WriteTransaction& tx, std::int64_t queue_id, std::string_view key) {
  Cursor cursor = tx.db().use(key_running_sql);
  return cursor.bind(queue_id, key).next() ? cursor.integer(0) : 0;
}

bool is_preceded(WriteTransaction& tx, std::int64_t queue_id, std::string_view key, std::int64_t rank) {
  Cursor cursor = tx.db().use(preceded_sql);
  return cursor.bind(queue_id, key, rank).next();
}

void unpark_all(WriteTransaction& tx, std::int64_t queue_id) {
  std::vector<std::pair<std::int64_t, Uuid>> parked;
  {
    Cursor cursor = tx.db().use(all_parked_sql);
    cursor.bind(queue_id);
    while (cursor.next()) {
      parked.emplace_back(claim_order::due(queue_id, cursor.small(1), cursor.small(2)), cursor.uuid(0));
    }
  }
  for (const auto& [place, id] : parked) { unpark_one(tx, place, id); }
}

}  // namespace hapax::store::sqlite
