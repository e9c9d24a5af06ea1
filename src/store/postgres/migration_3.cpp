// Version 3: identity windows, limits, the catalogue.
//
// A build that knows only version 2 would claim from queues without regard to their limits, so it must not run on this
// version.
#include "store/postgres/migrations.hpp"

namespace hapax::store::postgres {

namespace {

// retention_us: NULL means the default of the execution's kind. `limited` makes claims respect limits. `limited_since`
// is when it became true, as claims in progress at that time did not mark what they took (live.held).
constexpr std::string_view queues = R"(
ALTER TABLE {s}.queues
  ALTER COLUMN retention_us DROP NOT NULL,
  ALTER COLUMN retention_us DROP DEFAULT,
  ADD COLUMN dedup_window_us bigint,
  ADD COLUMN limits text COLLATE "C",
  ADD COLUMN keyed boolean NOT NULL DEFAULT false,
  ADD COLUMN limited boolean GENERATED ALWAYS AS (limits IS NOT NULL OR keyed) STORED,
  ADD COLUMN limited_since bigint NOT NULL DEFAULT 0)";

constexpr std::string_view queues_retention =
    "UPDATE {s}.queues SET retention_us = NULL WHERE retention_us = 604800000000";

// These columns are NULL for an execution without limit key that never ran under limits. `held` is set by claims under
// limits and has a meaning only while the row runs. weight: NULL is 1. A parked row has state 3.
constexpr std::string_view live = R"(
ALTER TABLE {s}.live
  ADD COLUMN held boolean,
  ADD COLUMN weight int,
  ADD COLUMN sequence bigint,
  ADD COLUMN limit_key text COLLATE "C")";

constexpr std::string_view live_sequence = "CREATE SEQUENCE {s}.live_sequence";

// All executions of a limit key by state, and those of an ordered key by sequence.
constexpr std::string_view live_keys =
    "CREATE INDEX live_keys ON {s}.live (queue_id, limit_key, state, sequence) WHERE limit_key IS NOT NULL";
constexpr std::string_view live_parked =
    "CREATE INDEX live_parked ON {s}.live (queue_id, limit_key, priority DESC, run_at, id) WHERE state = 3";
constexpr std::string_view live_held = "CREATE INDEX live_held ON {s}.live (queue_id) WHERE state = 1 AND held";

constexpr std::string_view history = R"(
ALTER TABLE {s}.history
  ADD COLUMN stub boolean,
  ADD COLUMN weight int,
  ADD COLUMN limit_key text COLLATE "C")";

// hold_until, ended_as and ended_at are set for a tombstone: the execution's record is gone.
constexpr std::string_view identities = R"(
ALTER TABLE {s}.identities
  ADD COLUMN hold_for bigint,
  ADD COLUMN ended_as smallint,
  ADD COLUMN ended_at bigint)";
constexpr std::string_view identities_tombstones =
    "CREATE INDEX identities_tombstones ON {s}.identities (hold_until) WHERE hold_until IS NOT NULL";

// Theoretical arrival times (model/rate.hpp). The queue's own is stored under the empty key, which no encoded limit key
// equals. A time that has passed means the same as none. These are not columns of `queues`, which every enqueue and
// claim reads.
constexpr std::string_view rates = R"(
CREATE TABLE {s}.rates (
  queue_id int NOT NULL,
  limit_key text COLLATE "C" NOT NULL,
  arrival bigint NOT NULL,
  PRIMARY KEY (queue_id, limit_key)
) WITH (autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.02))";
constexpr std::string_view rates_passed = "CREATE INDEX rates_passed ON {s}.rates (arrival)";

constexpr std::string_view tasks = R"(
CREATE TABLE {s}.tasks (
  ns text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  definition text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (ns, name)
))";

constexpr std::string_view settings = R"(
CREATE TABLE {s}.settings (
  ns text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  PRIMARY KEY (ns, name)
))";

constexpr std::string_view audit = R"(
CREATE TABLE {s}.audit (
  ns text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  at bigint NOT NULL,
  actor text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  detail text COLLATE "C" NOT NULL,
  PRIMARY KEY (ns, id)
))";

constexpr std::string_view executions = R"(
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
       substr(l.limit_key, 3) AS limit_key, l.limit_key LIKE 'o:%' AS ordered, l.state = 3 AS parked
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
       substr(h.limit_key, 3), h.limit_key LIKE 'o:%', false
FROM {s}.history h JOIN {s}.queues q ON q.id = h.queue_id)";

}  // namespace

std::vector<std::string_view> migration_3() {
  return {queues,     queues_retention,      live,  live_sequence, live_keys, live_parked, live_held, history,
          identities, identities_tombstones, rates, rates_passed,  tasks,     settings,    audit,     executions};
}

}  // namespace hapax::store::postgres
