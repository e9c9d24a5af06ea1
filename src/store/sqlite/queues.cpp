// Queues: settings, figures, purge and move. Figures are counted on the index: no row of live is
// read for ready and delayed executions.
#include "store/sqlite/line.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/verbs.hpp"

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

constexpr const char* list_sql =
    "SELECT id, ns, name, paused, draining, retention_us, failed_retention_us FROM queues WHERE ns = ? ORDER BY name";
constexpr const char* due_sql =
    "SELECT count(*), min(run_at) FROM live INDEXED BY live_line WHERE line BETWEEN ? AND ?";
constexpr const char* delayed_due_sql =
    "SELECT count(*), min(run_at) FROM live INDEXED BY live_line WHERE line = ? AND run_at <= ?";
constexpr const char* delayed_sql = "SELECT count(*) FROM live INDEXED BY live_line WHERE line = ? AND run_at > ?";
constexpr const char* running_sql =
    "SELECT queue_id, count(*) FROM live INDEXED BY live_line WHERE line < 0 GROUP BY queue_id";
constexpr const char* dead_sql =
    "SELECT count(*) FROM history INDEXED BY history_dead WHERE queue_id = ? AND dead = 1 AND expires_at > ?";
constexpr const char* throughput_sql =
    "SELECT coalesce(sum(completed), 0), coalesce(sum(failed), 0) FROM queue_stats WHERE queue_id = ? AND second > ?";
constexpr const char* count_sql =
    "INSERT INTO queue_stats(queue_id, second, completed, failed, retried) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT(queue_id, second) DO UPDATE SET completed = completed + excluded.completed,"
    " failed = failed + excluded.failed, retried = retried + excluded.retried";
constexpr const char* pending_sql =
    "SELECT id, priority, lost, run_at FROM live INDEXED BY live_line WHERE line BETWEEN ? AND ?"
    " ORDER BY line, run_at, id LIMIT ?";
constexpr const char* move_sql = "UPDATE live SET queue_id = ?, line = ?, state = ? WHERE id = ?";

std::int64_t seconds(Time time) { return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count(); }

// Adds the count and the oldest run_at that a statement answers.
void add_ready(Cursor& cursor, QueueInfo& info, Time now) {
  if (cursor.next() && cursor.integer(0) > 0) {
    info.ready += cursor.integer(0);
    const Duration waited = now - cursor.time(1);
    info.oldest_ready = std::max(info.oldest_ready.value_or(waited), waited);
  }
}

void add_figures(ReadTransaction& tx, std::int64_t id, QueueInfo& info) {
  Connection& db = tx.db();
  add_ready(db.use(due_sql).bind(line::ready(id).first, line::suspect(id).last), info, tx.now());
  add_ready(db.use(delayed_due_sql).bind(line::delayed(id), tx.now()), info, tx.now());
  Cursor delayed = db.use(delayed_sql);
  info.delayed = delayed.bind(line::delayed(id), tx.now()).next() ? delayed.integer(0) : 0;
  Cursor dead = db.use(dead_sql);
  info.dead = dead.bind(id, tx.now()).next() ? dead.integer(0) : 0;
  Cursor throughput = db.use(throughput_sql);
  const Duration minute = std::chrono::minutes(1);
  // A second counts until all of it is older than a minute.
  if (throughput.bind(id, seconds(tx.now() - minute)).next()) {
    info.completed_last_minute = throughput.integer(0);
    info.failed_last_minute = throughput.integer(1);
  }
}

struct Pending {
  Uuid id;
  int priority = 0;
  int lost = 0;
  Time run_at{};
};

// Due ones first, then those that were lost before, then delayed ones: the order of their lines.
std::vector<Pending> pending(WriteTransaction& tx, const QueueRow& queue, int limit) {
  std::vector<Pending> some;
  Cursor cursor = tx.db().use(pending_sql);
  cursor.bind(line::ready(queue.id).first, line::delayed(queue.id), limit);
  while (cursor.next()) { some.push_back({cursor.uuid(0), cursor.small(1), cursor.small(2), cursor.time(3)}); }
  return some;
}

}  // namespace

void configure_queue(WriteTransaction& tx, const QueueRef& queue, const QueuePatch& patch) {
  QueueRow row = tx.queues().get(queue);
  QueueSettings& settings = row.settings;
  settings.paused = patch.paused.value_or(settings.paused);
  settings.draining = patch.draining.value_or(settings.draining);
  settings.retention = patch.retention.value_or(settings.retention);
  settings.failed_retention = patch.failed_retention.value_or(settings.failed_retention);
  tx.queues().save(row);
}

std::vector<QueueInfo> queues(ReadTransaction& tx, std::string_view ns) {
  std::vector<QueueInfo> infos;
  std::vector<std::int64_t> ids;
  {
    Cursor cursor = tx.db().use(list_sql);
    cursor.bind(ns);
    while (cursor.next()) {
      QueueInfo& info = infos.emplace_back();
      ids.push_back(cursor.integer(0));
      info.queue = {.ns = cursor.string(1), .name = cursor.string(2)};
      info.settings = {.paused = cursor.flag(3),
                       .draining = cursor.flag(4),
                       .retention = cursor.duration(5),
                       .failed_retention = cursor.optional(6, &Cursor::duration)};
    }
  }
  Cursor running = tx.db().use(running_sql);
  while (running.next()) {
    const auto at = std::find(ids.begin(), ids.end(), running.integer(0));
    if (at != ids.end()) { infos[static_cast<std::size_t>(at - ids.begin())].running = running.integer(1); }
  }
  for (std::size_t index = 0; index < infos.size(); ++index) { add_figures(tx, ids[index], infos[index]); }
  return infos;
}

int purge(WriteTransaction& tx, const QueueRef& queue, int limit) {
  const QueueRow* const row = tx.queues().find(queue);
  if (row == nullptr) { return 0; }
  const std::vector<Pending> doomed = pending(tx, *row, limit);
  for (const Pending& one : doomed) {
    FoundLive found(tx, one.id);
    end_execution(tx, found, {.status = Status::cancelled, .error = cancelled_error("purged")});
  }
  return static_cast<int>(doomed.size());
}

int move(WriteTransaction& tx, const QueueRef& from, const QueueRef& to, int limit) {
  const QueueRow* const source = tx.queues().find(from);
  if (source == nullptr || from == to) { return 0; }
  const QueueRow& target = tx.queues().get(to);
  const std::vector<Pending> moving = pending(tx, *source, limit);
  Cursor cursor = tx.db().use(move_sql);
  for (const Pending& one : moving) {
    const bool delayed = one.run_at > tx.now();
    const LiveState state = delayed ? LiveState::delayed : LiveState::ready;
    const std::int64_t place = delayed ? line::delayed(target.id) : line::due(target.id, one.priority, one.lost);
    cursor.bind(target.id, place, static_cast<int>(state), one.id).run();
  }
  return static_cast<int>(moving.size());
}

void count_finished(WriteTransaction& tx, const QueueCount& count) {
  tx.db()
      .use(count_sql)
      .bind(tx.queues().get(count.queue).id, seconds(tx.now()), count.completed, count.failed, count.retried)
      .run();
}

}  // namespace hapax::store::sqlite
