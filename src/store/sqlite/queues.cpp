// Queues: settings, figures, purge and move. Figures are counted on the index: ready, delayed and parked executions
// cost no read of a row of live.
#include "model/queue_key.hpp"
#include "model/queue_patch.hpp"
#include "model/rate.hpp"
#include "store/sqlite/claim_order.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/park.hpp"
#include "store/sqlite/verbs.hpp"

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

constexpr const char* list_sql = "SELECT " HAPAX_QUEUE_COLUMNS " FROM queues WHERE ns = ? ORDER BY name";
constexpr const char* queues_due_sql =
    "SELECT count(*), min(run_at) FROM live INDEXED BY live_line WHERE line BETWEEN ? AND ?";
constexpr const char* delayed_due_sql =
    "SELECT count(*), min(run_at) FROM live INDEXED BY live_line WHERE line = ? AND run_at <= ?";
constexpr const char* delayed_sql = "SELECT count(*) FROM live INDEXED BY live_line WHERE line = ? AND run_at > ?";
constexpr const char* parked_sql = "SELECT count(*) FROM live INDEXED BY live_line WHERE line BETWEEN ? AND ?";
constexpr const char* queues_running_sql =
    "SELECT queue_id, count(*) FROM live INDEXED BY live_line WHERE line < 0 GROUP BY queue_id";
constexpr const char* dead_sql =
    "SELECT count(*) FROM history INDEXED BY history_dead WHERE queue_id = ? AND dead = 1 AND expires_at > ?";
constexpr const char* throughput_sql =
    "SELECT coalesce(sum(completed), 0), coalesce(sum(failed), 0) FROM queue_stats WHERE queue_id = ? AND second > ?";
constexpr const char* queues_count_sql =
    "INSERT INTO queue_stats(queue_id, second, completed, failed, retried) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT(queue_id, second) DO UPDATE SET completed = completed + excluded.completed,"
    " failed = failed + excluded.failed, retried = retried + excluded.retried";
// Leaves out workflows that have begun unless the first flag is set. Ordered keys are "o:…"; all other keys sort before
// them.
constexpr const char* pending_sql =
    "SELECT id, priority, lost, run_at, limit_key FROM live INDEXED BY live_line WHERE line BETWEEN ? AND ?"
    " AND (? OR kind <> 1 OR fence = 0)"
    " AND (limit_key IS NULL OR limit_key < 'o:') ORDER BY line, run_at, id LIMIT ?";
constexpr const char* next_ordered_key_sql =
    "SELECT min(next) FROM (SELECT min(limit_key) AS next FROM limited INDEXED BY limited_order"
    " WHERE queue_id = ?1 AND state = 0 AND limit_key > ?2 AND limit_key >= 'o:'"
    " UNION ALL SELECT min(limit_key) FROM limited INDEXED BY limited_order"
    " WHERE queue_id = ?1 AND state = 2 AND limit_key > ?2 AND limit_key >= 'o:')";
// The two ranges of the index are merged, so no more rows are read than the limit. At most one execution of an ordered
// key has begun, as they run one after the other, so leaving it out never hides the others.
constexpr const char* ordered_pending_sql =
    "SELECT live.id, live.priority, live.lost, live.run_at, live.limit_key FROM ("
    "SELECT execution, rank FROM limited WHERE queue_id = ?1 AND state = 0 AND limit_key = ?2"
    " UNION ALL SELECT execution, rank FROM limited WHERE queue_id = ?1 AND state = 2 AND limit_key = ?2"
    " ORDER BY rank LIMIT ?3) AS first CROSS JOIN live ON live.id = first.execution"
    " WHERE ?4 OR live.kind <> 1 OR live.fence = 0 ORDER BY first.rank";
// Each key's executions, in the order in which they would return to the claim order.
constexpr const char* parked_pending_sql =
    "SELECT live.id, live.priority, live.lost, live.run_at, live.limit_key FROM limited INDEXED BY limited_order"
    " CROSS JOIN live ON live.id = limited.execution WHERE limited.queue_id = ? AND limited.state = 2"
    " AND limited.limit_key < 'o:' AND (? OR live.kind <> 1 OR live.fence = 0) ORDER BY limited.limit_key, "
    "limited.rank, limited.run_at, limited.execution LIMIT ?";
constexpr const char* queues_identity_sql = "SELECT task, identity, identity_key FROM live WHERE id = ?";
constexpr const char* move_sql = "UPDATE live SET queue_id = ?, line = ?, state = ? WHERE id = ?";

constexpr const char* cap_key_rates_sql = "UPDATE key_rates SET arrival = ?1 WHERE queue_id = ?2 AND arrival > ?1";
constexpr const char* drop_key_rates_sql = "DELETE FROM key_rates WHERE queue_id = ?";

std::int64_t seconds(Time time) { return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count(); }

// Adds the count and the oldest run_at that the statement returns.
void add_ready(Cursor& cursor, QueueInfo& info, Time now) {
  if (cursor.next() && cursor.integer(0) > 0) {
    info.ready += cursor.integer(0);
    const Duration waited = now - cursor.time(1);
    info.oldest_ready = std::max(info.oldest_ready.value_or(waited), waited);
  }
}

void add_figures(ReadTransaction& tx, std::int64_t id, QueueInfo& info) {
  Connection& db = tx.db();
  add_ready(db.use(queues_due_sql).bind(claim_order::ready(id).first, claim_order::suspect(id).last), info, tx.now());
  add_ready(db.use(delayed_due_sql).bind(claim_order::delayed(id), tx.now()), info, tx.now());
  Cursor delayed = db.use(delayed_sql);
  info.delayed = delayed.bind(claim_order::delayed(id), tx.now()).next() ? delayed.integer(0) : 0;
  Cursor parked = db.use(parked_sql);
  info.parked = parked.bind(claim_order::parked(id).first, claim_order::parked(id).last).next() ? parked.integer(0) : 0;
  Cursor dead = db.use(dead_sql);
  info.dead = dead.bind(id, tx.now()).next() ? dead.integer(0) : 0;
  Cursor throughput = db.use(throughput_sql);
  const Duration minute = std::chrono::minutes(1);
  // A second counts until the whole second is older than a minute.
  if (throughput.bind(id, seconds(tx.now() - minute)).next()) {
    info.completed_last_minute = throughput.integer(0);
    info.failed_last_minute = throughput.integer(1);
  }
}

struct Pending {
  Uuid id;
  Waiting waiting;
};

struct PendingFilter {
  int limit = 0;
  bool begun = true;  // also workflows that have begun
};

void add_pending(Cursor& cursor, const QueueRow& queue, std::vector<Pending>& some) {
  while (cursor.next()) {
    some.push_back({.id = cursor.uuid(0),
                    .waiting = {.queue_id = queue.id,
                                .priority = cursor.small(1),
                                .run_at = cursor.time(3),
                                .lost = cursor.small(2),
                                .limit_key = cursor.optional(4, &Cursor::string)}});
  }
  cursor.reset();
}

// Adds executions of ordered keys, key by key and by sequence, whatever their state, so that the limit leaves behind
// the later ones of a key. 1 SELECT, and 2 per key.
void add_ordered(WriteTransaction& tx, const QueueRow& queue, const PendingFilter& wanted, std::vector<Pending>& some) {
  std::string key;
  while (std::ssize(some) < wanted.limit) {
    {
      Cursor cursor = tx.db().use(next_ordered_key_sql);
      if (!cursor.bind(queue.id, key).next() || cursor.is_null(0)) { return; }
      key = cursor.string(0);
    }
    Cursor cursor = tx.db().use(ordered_pending_sql);
    add_pending(cursor.bind(queue.id, key, wanted.limit - std::ssize(some), wanted.begun), queue, some);
  }
}

// Executions of ordered keys first, then due ones, those lost before, parked ones and delayed ones. 1 SELECT; with
// limits 3, and the cost of ordered keys.
std::vector<Pending> pending(WriteTransaction& tx, const QueueRow& queue, const PendingFilter& wanted) {
  std::vector<Pending> some;
  const auto left = [&] { return std::max<std::int64_t>(wanted.limit - std::ssize(some), 0); };
  const std::int64_t delayed = claim_order::delayed(queue.id);
  Cursor cursor = tx.db().use(pending_sql);
  if (!queue.limited()) {
    add_pending(cursor.bind(claim_order::ready(queue.id).first, delayed, wanted.begun, left()), queue, some);
    return some;
  }
  add_ordered(tx, queue, wanted, some);
  const std::int64_t last = claim_order::suspect(queue.id).last;
  add_pending(cursor.bind(claim_order::ready(queue.id).first, last, wanted.begun, left()), queue, some);
  Cursor parked = tx.db().use(parked_pending_sql);
  add_pending(parked.bind(queue.id, wanted.begun, left()), queue, some);
  add_pending(cursor.bind(delayed, delayed, wanted.begun, left()), queue, some);
  return some;
}

// 1 SELECT for the catalogue and 1 per execution.
void check_leaving(WriteTransaction& tx, const QueueRef& from, const std::vector<Pending>& moving) {
  const QueueKeys keys(from, tasks_of(tx.db(), from.namespace_name));
  for (const Pending& one : moving) {
    Cursor cursor = tx.db().use(queues_identity_sql);
    if (!cursor.bind(one.id).next()) { continue; }
    keys.check_leaving({.task = cursor.string(0),
                        .identity = cursor.optional(1, &Cursor::digest),
                        .key = cursor.is_null(2) ? "" : cursor.string(2)});
  }
}

// Adjusts the rate states after a rate has changed (model/rate.hpp).
void carry_rates_over(WriteTransaction& tx, const QueueRow& row, const QueueLimits& before) {
  const QueueLimits& limits = row.settings.limits;
  if (limits.rate != before.rate) {
    tx.queues().save_arrival(row, arrival_under(limits.rate, row.rate_arrival, tx.now()));
  }
  if (limits.key_rate == before.key_rate) { return; }
  if (limits.key_rate) {
    tx.db().use(cap_key_rates_sql).bind(tx.now() + debt_carried_over(*limits.key_rate), row.id).run();
  } else {
    tx.db().use(drop_key_rates_sql).bind(row.id).run();
  }
}

}  // namespace

void configure_queue(WriteTransaction& tx, const QueueRef& queue, const QueuePatch& patch) {
  const QueueRow& row = tx.queues().get(queue);
  const QueueLimits before = row.settings.limits;
  QueueSettings settings = row.settings;
  apply_patch(settings, patch);
  tx.queues().save_settings(row, settings);
  if (settings.limits != before) {
    unpark_all(tx, row.id);
    carry_rates_over(tx, row, before);
    if (row.counts_running()) { count_all_running(tx, row.id); }
  }
  if (!patch.actor.empty()) {
    write_audit(tx, {.namespace_name = queue.namespace_name,
                     .actor = patch.actor,
                     .action = "queue.configure",
                     .subject = queue.name,
                     .detail = describe_patch(patch)});
  }
}

std::vector<QueueInfo> queues(ReadTransaction& tx, std::string_view namespace_name) {
  std::vector<QueueInfo> infos;
  std::vector<std::int64_t> ids;
  {
    Cursor cursor = tx.db().use(list_sql);
    cursor.bind(namespace_name);
    while (cursor.next()) {
      QueueRow row = read_queue(cursor);
      ids.push_back(row.id);
      QueueInfo& info = infos.emplace_back();
      info.queue = std::move(row.ref);
      info.settings = row.settings;
      info.rate_arrival = row.rate_arrival;
    }
  }
  Cursor running = tx.db().use(queues_running_sql);
  while (running.next()) {
    const auto at = std::find(ids.begin(), ids.end(), running.integer(0));
    if (at != ids.end()) { infos[static_cast<std::size_t>(at - ids.begin())].running = running.integer(1); }
  }
  for (std::size_t index = 0; index < infos.size(); ++index) { add_figures(tx, ids[index], infos[index]); }
  return infos;
}

int purge(WriteTransaction& tx, const QueueRef& queue, int limit, const Actor& by) {
  const QueueRow* const row = tx.queues().find(queue);
  if (row == nullptr) { return 0; }
  const std::vector<Pending> doomed = pending(tx, *row, {.limit = limit, .begun = false});
  for (const Pending& one : doomed) {
    FoundLive found(tx, one.id);
    end_execution(tx, found, {.status = Status::cancelled, .error = cancelled_error("purged")});
  }
  const int purged = static_cast<int>(doomed.size());
  if (purged > 0 && by.is_known()) {
    write_audit(tx, {.namespace_name = queue.namespace_name,
                     .actor = by.name,
                     .action = "queue.purge",
                     .subject = queue.name,
                     .detail = describe_count(purged)});
  }
  return purged;
}

int move(WriteTransaction& tx, const QueueRef& from, const QueueRef& to, int limit, const Actor& by) {
  const QueueRow* const source = tx.queues().find(from);
  if (source == nullptr || from == to) { return 0; }
  const QueueRow& target = tx.queues().get(to);
  const std::vector<Pending> moving = pending(tx, *source, {.limit = limit});
  check_leaving(tx, from, moving);
  for (const Pending& one : moving) {
    const Waiting& held = one.waiting;
    const Place place = place_of(target.id, held.priority, held.lost, held.run_at, tx.now());
    tx.db().use(move_sql).bind(target.id, place.line, static_cast<int>(place.state), one.id).run();
    if (held.limit_key) {
      leave_key(tx, one.id, source->id, *held.limit_key);
      tx.queues().mark_keyed(target);
      join_key(tx, {.id = one.id,
                    .queue_id = target.id,
                    .key = *held.limit_key,
                    .priority = held.priority,
                    .run_at = held.run_at});
    }
  }
  const int moved = static_cast<int>(moving.size());
  if (moved > 0 && by.is_known()) {
    write_audit(tx, {.namespace_name = from.namespace_name,
                     .actor = by.name,
                     .action = "queue.move",
                     .subject = from.name,
                     .detail = describe_move(to, moved)});
  }
  return moved;
}

void count_finished(WriteTransaction& tx, const QueueCount& count) {
  tx.db()
      .use(queues_count_sql)
      .bind(tx.queues().get(count.queue).id, seconds(tx.now()), count.completed, count.failed, count.retried)
      .run();
}

}  // namespace hapax::store::sqlite
