#include "store/postgres/endings.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/transaction_guard.hpp"

namespace hapax::store::postgres {

namespace {

constexpr Statement configure_statement{"hapax_queue_configure", R"(
UPDATE {s}.queues SET paused = coalesce($2::boolean, paused), draining = coalesce($3::boolean, draining),
  retention_us = coalesce($4::bigint, retention_us),
  failed_retention_us = CASE WHEN $5::boolean THEN $6::bigint ELSE failed_retention_us END
WHERE id = $1::int)"};

constexpr const char* list_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
q AS MATERIALIZED (SELECT * FROM {s}.queues WHERE ns = $2::text),
going AS (
  SELECT queue_id,
         count(*) FILTER (WHERE state = 0 OR (state = 2 AND run_at <= t.now)) AS ready,
         count(*) FILTER (WHERE state = 2 AND run_at > t.now) AS delayed,
         count(*) FILTER (WHERE state = 1) AS running,
         min(run_at) FILTER (WHERE state = 0 OR (state = 2 AND run_at <= t.now)) AS oldest
  FROM {s}.live, t WHERE queue_id IN (SELECT id FROM q) GROUP BY queue_id),
dead AS (
  SELECT queue_id, count(*) AS letters FROM {s}.history
  WHERE dead AND queue_id IN (SELECT id FROM q) AND expires_at > (SELECT now FROM t) GROUP BY queue_id),
stats AS (
  SELECT queue_id, sum(completed)::bigint AS completed, sum(failed)::bigint AS failed FROM {s}.queue_stats, t
  WHERE queue_id IN (SELECT id FROM q) AND at > t.now - 60000000 AND at <= t.now GROUP BY queue_id)
SELECT q.name, q.paused, q.draining, q.retention_us, q.failed_retention_us, coalesce(g.ready, 0),
       coalesce(g.delayed, 0), coalesce(g.running, 0), t.now - g.oldest, coalesce(d.letters, 0),
       coalesce(s.completed, 0), coalesce(s.failed, 0)
FROM q CROSS JOIN t LEFT JOIN going g ON g.queue_id = q.id LEFT JOIN dead d ON d.queue_id = q.id
LEFT JOIN stats s ON s.queue_id = q.id ORDER BY q.name)";

// Due ones first; what a claimer has locked is about to run and is passed over.
constexpr Statement pending_statement{"hapax_queue_pending", R"(
WITH ready AS MATERIALIZED (
  SELECT id FROM {s}.live WHERE queue_id = $1::int AND state = 0 AND lost = 0
  ORDER BY priority DESC, run_at, id LIMIT $2::bigint FOR UPDATE SKIP LOCKED),
suspects AS MATERIALIZED (
  SELECT id FROM {s}.live WHERE queue_id = $1::int AND state = 0 AND lost > 0
  ORDER BY priority DESC, run_at, id LIMIT greatest($2::bigint - (SELECT count(*) FROM ready), 0)
  FOR UPDATE SKIP LOCKED),
delayed AS MATERIALIZED (
  SELECT id FROM {s}.live WHERE queue_id = $1::int AND state = 2 ORDER BY run_at
  LIMIT greatest($2::bigint - (SELECT count(*) FROM ready) - (SELECT count(*) FROM suspects), 0)
  FOR UPDATE SKIP LOCKED)
SELECT id FROM ready UNION ALL SELECT id FROM suspects UNION ALL SELECT id FROM delayed)"};

constexpr Statement move_statement{"hapax_queue_move", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
UPDATE {s}.live SET queue_id = $3::int, state = CASE WHEN run_at > (SELECT now FROM t) THEN 2 ELSE 0 END
WHERE id = ANY ($2::uuid[]))"};

std::vector<Uuid> lock_pending(Connection& connection, std::int32_t queue, int limit) {
  const Result result = connection.query(pending_statement, Params().int4(queue).int8(limit));
  std::vector<Uuid> ids;
  for (int row = 0; row < result.rows(); ++row) { ids.push_back(RowReader(result, row).uuid()); }
  return ids;
}

}  // namespace

// 1 round trip, 2 when the queue is new.
void PostgresStore::configure_queue(const QueueRef& queue, const QueuePatch& patch) {
  run([&](Connection& connection) {
    queue_ids_.ensure(connection, {queue});
    Params params;
    params.int4(queue_ids_.id(queue));
    patch.paused ? params.boolean(*patch.paused) : params.null(Type::boolean);
    patch.draining ? params.boolean(*patch.draining) : params.null(Type::boolean);
    patch.retention ? params.int8(patch.retention->count()) : params.null(Type::int8);
    params.boolean(patch.failed_retention.has_value());
    patch.failed_retention&&* patch.failed_retention ? params.int8((*patch.failed_retention)->count())
                                                     : params.null(Type::int8);
    connection.query(configure_statement, params);
  });
}

// 1 round trip; counts what is live.
std::vector<QueueInfo> PostgresStore::queues(std::string_view ns) {
  return run(Planning::plain, [&](Connection& connection) {
    const Result result = connection.query_text(connection.sql(list_text), Params().int8(offset_us()).text(ns));
    std::vector<QueueInfo> infos;
    for (int row = 0; row < result.rows(); ++row) {
      RowReader reader(result, row);
      QueueInfo info;
      info.queue = {.ns = std::string(ns), .name = reader.bytes()};
      info.settings.paused = reader.boolean();
      info.settings.draining = reader.boolean();
      info.settings.retention = Duration(reader.int8());
      info.settings.failed_retention = reader.optional_duration();
      info.ready = reader.int8();
      info.delayed = reader.int8();
      info.running = reader.int8();
      info.oldest_ready = reader.optional_duration();
      info.dead = reader.int8();
      info.completed_last_minute = reader.int8();
      info.failed_last_minute = reader.int8();
      infos.push_back(std::move(info));
    }
    return infos;
  });
}

int PostgresStore::purge(const QueueRef& queue, int limit) {
  return run([&](Connection& connection) {
    const std::optional<std::int32_t> id = queue_ids_.find(connection, queue);
    if (!id) { return 0; }
    static const std::string error = cancelled_error("purged");
    TransactionGuard guard(connection);
    std::vector<Ending> endings;
    for (const Uuid& pending : lock_pending(connection, *id, limit)) {
      endings.push_back({.id = pending, .status = Status::cancelled, .error = error});
    }
    if (!endings.empty()) {
      const Call call = end_call(endings, offset_us());
      connection.query(*call.statement, call.params);
    }
    guard.commit();
    return static_cast<int>(endings.size());
  });
}

int PostgresStore::move(const QueueRef& from, const QueueRef& to, int limit) {
  if (from == to) { return 0; }
  return run([&](Connection& connection) {
    const std::optional<std::int32_t> source = queue_ids_.find(connection, from);
    if (!source) { return 0; }
    queue_ids_.ensure(connection, {to});
    TransactionGuard guard(connection);
    const std::vector<Uuid> ids = lock_pending(connection, *source, limit);
    if (!ids.empty()) {
      Params params;
      params.int8(offset_us()).array(uuid_array(ids)).int4(queue_ids_.id(to));
      connection.query(move_statement, params);
    }
    guard.commit();
    return static_cast<int>(ids.size());
  });
}

}  // namespace hapax::store::postgres
