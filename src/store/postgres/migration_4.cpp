// Version 4: workflows.
//
// A build that knows only version 3 would end executions without sending events to their waiters, so it must not run on
// this version.
#include "store/postgres/migrations.hpp"

namespace hapax::store::postgres {

namespace {

// These columns are NULL for a plain task. `inbox` is the number of the newest event; NULL is 0. The waiters of an
// execution are stored in its own row, so that the transaction which ends it, and so has its newest version, knows them
// all. A workflow that waits has left_by 7 and is not running.
constexpr std::string_view migration_4_live = R"(
ALTER TABLE {s}.live
  ADD COLUMN inbox bigint,
  ADD COLUMN waiters uuid[],
  ADD COLUMN waiter_positions int[],
  ADD COLUMN stuck text COLLATE "C")";

constexpr std::string_view migration_4_history = "ALTER TABLE {s}.history ADD COLUMN continued_as uuid";

constexpr std::string_view journal = "ALTER TABLE {s}.journal ADD COLUMN child uuid";

// signal_key: "k:" and the sender's key, or "i:" and an id made by the store, by which a signal whose answer was lost
// is found again. Rows with numbers below zero are not events: they hold the keys of an earlier run's signals.
constexpr std::string_view events = R"(
CREATE TABLE {s}.events (
  execution uuid NOT NULL,
  number bigint NOT NULL,
  at bigint NOT NULL,
  position int NOT NULL DEFAULT 0,
  kind smallint NOT NULL,
  status smallint NOT NULL DEFAULT 0,
  child uuid,
  name text COLLATE "C",
  data bytea,
  error text COLLATE "C",
  signal_key text COLLATE "C",
  PRIMARY KEY (execution, number)
))";
constexpr std::string_view events_signal_keys =
    "CREATE UNIQUE INDEX events_signal_keys ON {s}.events (execution, signal_key) WHERE signal_key IS NOT NULL";

constexpr std::string_view waiters = R"(
CREATE VIEW {s}.waiters AS
SELECT l.id AS execution, w.waiter, w.position
FROM {s}.live l CROSS JOIN LATERAL unnest(l.waiters, l.waiter_positions) w(waiter, position)
WHERE l.waiters IS NOT NULL)";

constexpr std::string_view migration_4_executions = R"(
CREATE OR REPLACE VIEW {s}.executions AS
SELECT l.id, q.ns AS namespace, q.name AS queue, l.task,
       CASE l.kind WHEN 0 THEN 'task' WHEN 1 THEN 'workflow' ELSE 'guard' END AS kind,
       CASE l.state WHEN 1 THEN 'running' ELSE 'pending' END AS status,
       l.priority, l.run, l.attempt, l.max_attempts, l.lost, l.fence,
       to_timestamp(l.created_at / 1000000.0) AS created_at, to_timestamp(l.run_at / 1000000.0) AS run_at,
       to_timestamp(l.claimed_at / 1000000.0) AS started_at, NULL::timestamptz AS finished_at,
       NULL::timestamptz AS expires_at, to_timestamp(l.deadline / 1000000.0) AS deadline,
       l.identity_key, replace(l.labels, '\u0000', '\ufffd')::jsonb AS labels, {s}.as_json(l.input) AS input,
       NULL::jsonb AS result, NULL::jsonb AS error, l.progress, l.progress_message, l.cancel_requested, l.session,
       NULL::text AS worker, l.parent, false AS dead, NULL::uuid AS retried_as, NULL::text AS note,
       substr(l.limit_key, 3) AS limit_key, l.limit_key LIKE 'o:%' AS ordered, l.state = 3 AS parked,
       coalesce(l.left_by = 7, false) AND l.state <> 1 AS waiting, l.stuck, NULL::uuid AS continued_as
FROM {s}.live l JOIN {s}.queues q ON q.id = l.queue_id
UNION ALL
SELECT h.id, q.ns, q.name, h.task,
       CASE h.kind WHEN 0 THEN 'task' WHEN 1 THEN 'workflow' ELSE 'guard' END,
       CASE h.status WHEN 2 THEN 'completed' WHEN 3 THEN 'failed' WHEN 4 THEN 'cancelled' ELSE 'timed_out' END,
       h.priority, h.run, h.attempt, h.max_attempts, h.lost, h.fence,
       to_timestamp(h.created_at / 1000000.0), to_timestamp(h.run_at / 1000000.0),
       to_timestamp(h.started_at / 1000000.0), to_timestamp(h.finished_at / 1000000.0),
       to_timestamp(h.expires_at / 1000000.0), to_timestamp(h.deadline / 1000000.0),
       h.identity_key, replace(h.labels, '\u0000', '\ufffd')::jsonb, {s}.as_json(h.input), {s}.as_json(h.result),
       h.error::jsonb, NULL, NULL, false, h.session, h.worker, h.parent, h.dead, h.retried_as, h.note,
       substr(h.limit_key, 3), h.limit_key LIKE 'o:%', false, false, NULL::text, h.continued_as
FROM {s}.history h JOIN {s}.queues q ON q.id = h.queue_id)";

}  // namespace

std::vector<std::string_view> migration_4() {
  return {migration_4_live, migration_4_history, journal, events, events_signal_keys, waiters, migration_4_executions};
}

}  // namespace hapax::store::postgres
