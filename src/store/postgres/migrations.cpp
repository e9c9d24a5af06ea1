#include "store/postgres/migrations.hpp"

namespace hapax::store::postgres {

namespace {

// Text is compared by bytes (COLLATE "C"), as everywhere in hapax. Instants and durations are whole microseconds.
constexpr std::string_view migrations_queues = R"(
CREATE TABLE {s}.queues (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ns text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  paused boolean NOT NULL DEFAULT false,
  draining boolean NOT NULL DEFAULT false,
  retention_us bigint NOT NULL DEFAULT 604800000000,
  failed_retention_us bigint,
  UNIQUE (ns, name)
))";

// Every admission reads the draining queues; hardly any queue drains.
constexpr std::string_view queues_draining = "CREATE INDEX queues_draining ON {s}.queues (id) WHERE draining";

// Pending and running executions only. Updates move rows between partial indexes, so they are never HOT; the space left
// in each page keeps the new version beside the old. Vacuum starts early and unthrottled, because dead rows slow a
// queue most.
constexpr std::string_view migrations_live = R"(
CREATE TABLE {s}.live (
  id uuid NOT NULL PRIMARY KEY,
  run_at bigint NOT NULL,
  created_at bigint NOT NULL,
  fence bigint NOT NULL DEFAULT 0,
  queue_id int NOT NULL,
  attempt int NOT NULL DEFAULT 0,
  max_attempts int NOT NULL DEFAULT 4,
  lost int NOT NULL DEFAULT 0,
  max_lost int NOT NULL DEFAULT 4,
  run int NOT NULL DEFAULT 1,
  kind smallint NOT NULL DEFAULT 0,
  state smallint NOT NULL,
  priority smallint NOT NULL DEFAULT 0,
  cancel_requested boolean NOT NULL DEFAULT false,
  left_by smallint,
  task text COLLATE "C" NOT NULL,
  input bytea NOT NULL,
  session uuid,
  claim_number bigint,
  claimed_at bigint,
  deadline bigint,
  attempt_timeout bigint,
  retry text COLLATE "C",
  identity bytea,
  identity_key text COLLATE "C",
  effect_key text COLLATE "C",
  parent uuid,
  labels text COLLATE "C",
  progress double precision,
  progress_message text COLLATE "C",
  cancel_error text COLLATE "C"
) WITH (
  fillfactor = 80,
  autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_threshold = 5000, autovacuum_analyze_scale_factor = 0.1,
  autovacuum_vacuum_cost_delay = 0
))";

constexpr std::string_view live_claim =
    "CREATE INDEX live_claim ON {s}.live (queue_id, priority DESC, run_at, id) WHERE state = 0 AND lost = 0";
constexpr std::string_view live_suspects =
    "CREATE INDEX live_suspects ON {s}.live (queue_id, priority DESC, run_at, id) WHERE state = 0 AND lost > 0";
constexpr std::string_view live_delayed = "CREATE INDEX live_delayed ON {s}.live (queue_id, run_at) WHERE state = 2";
constexpr std::string_view live_running = "CREATE INDEX live_running ON {s}.live (session) WHERE state = 1";
constexpr std::string_view live_deadline =
    "CREATE INDEX live_deadline ON {s}.live (deadline) WHERE deadline IS NOT NULL";

// Finished executions, by day of expiry: retention drops whole partitions.
constexpr std::string_view migrations_history = R"(
CREATE TABLE {s}.history (
  id uuid NOT NULL,
  expires_at bigint NOT NULL,
  run_at bigint NOT NULL,
  created_at bigint NOT NULL,
  finished_at bigint NOT NULL,
  fence bigint NOT NULL,
  queue_id int NOT NULL,
  attempt int NOT NULL,
  max_attempts int NOT NULL,
  lost int NOT NULL,
  max_lost int NOT NULL,
  run int NOT NULL,
  kind smallint NOT NULL,
  status smallint NOT NULL,
  priority smallint NOT NULL,
  dead boolean NOT NULL,
  left_by smallint,
  task text COLLATE "C" NOT NULL,
  input bytea NOT NULL,
  result bytea,
  error text COLLATE "C",
  session uuid,
  worker text COLLATE "C",
  started_at bigint,
  deadline bigint,
  attempt_timeout bigint,
  retry text COLLATE "C",
  identity bytea,
  identity_key text COLLATE "C",
  effect_key text COLLATE "C",
  parent uuid,
  labels text COLLATE "C",
  retried_as uuid,
  note text COLLATE "C",
  PRIMARY KEY (id, expires_at)
) PARTITION BY RANGE (expires_at))";

constexpr std::string_view history_dead = "CREATE INDEX history_dead ON {s}.history (queue_id, id) WHERE dead";

// For days that have no partition. The rows here are deleted one by one, so there is an index by expiry.
constexpr std::string_view history_default = "CREATE TABLE {s}.history_default PARTITION OF {s}.history DEFAULT";
constexpr std::string_view history_default_expiry =
    "CREATE INDEX history_default_expiry ON {s}.history_default (expires_at)";

constexpr std::string_view migrations_identities = R"(
CREATE TABLE {s}.identities (
  identity bytea NOT NULL PRIMARY KEY,
  execution uuid NOT NULL,
  run int NOT NULL,
  fingerprint bytea,
  created_at bigint NOT NULL,
  hold_until bigint
))";

// Attempts that ended while their execution went on. Outcomes: 0 failed, 1 snoozed, 2 lost.
constexpr std::string_view attempts = R"(
CREATE TABLE {s}.attempts (
  execution uuid NOT NULL,
  fence bigint NOT NULL,
  number int NOT NULL,
  outcome smallint NOT NULL,
  worker text COLLATE "C" NOT NULL,
  started_at bigint,
  ended_at bigint NOT NULL,
  error text COLLATE "C",
  PRIMARY KEY (execution, fence)
))";

constexpr std::string_view sessions = R"(
CREATE TABLE {s}.sessions (
  id uuid NOT NULL PRIMARY KEY,
  started_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  lease_us bigint NOT NULL,
  pid bigint NOT NULL,
  worker text COLLATE "C" NOT NULL,
  host text COLLATE "C" NOT NULL,
  build text COLLATE "C" NOT NULL,
  queues text COLLATE "C" NOT NULL,
  tasks text COLLATE "C" NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0))";

// jsonb cannot hold \u0000, which JSON can: one such payload must not break every query of the view.
constexpr std::string_view json_or_null = R"(
CREATE FUNCTION {s}.as_json(payload bytea) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT replace(convert_from(payload, 'UTF8'), '\u0000', '\ufffd')::jsonb $$)";

constexpr std::string_view migrations_executions = R"(
CREATE VIEW {s}.executions AS
SELECT l.id, q.ns AS namespace, q.name AS queue, l.task,
       CASE l.kind WHEN 0 THEN 'task' WHEN 1 THEN 'workflow' ELSE 'guard' END AS kind,
       CASE l.state WHEN 1 THEN 'running' ELSE 'pending' END AS status,
       l.priority, l.run, l.attempt, l.max_attempts, l.lost, l.fence,
       to_timestamp(l.created_at / 1000000.0) AS created_at, to_timestamp(l.run_at / 1000000.0) AS run_at,
       to_timestamp(l.claimed_at / 1000000.0) AS started_at, NULL::timestamptz AS finished_at,
       NULL::timestamptz AS expires_at, to_timestamp(l.deadline / 1000000.0) AS deadline,
       l.identity_key, replace(l.labels, '\u0000', '\ufffd')::jsonb AS labels, {s}.as_json(l.input) AS input,
       NULL::jsonb AS result, NULL::jsonb AS error, l.progress, l.progress_message, l.cancel_requested, l.session,
       NULL::text AS worker, l.parent, false AS dead, NULL::uuid AS retried_as, NULL::text AS note
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
       h.error::jsonb, NULL, NULL, false, h.session, h.worker, h.parent, h.dead, h.retried_as, h.note
FROM {s}.history h JOIN {s}.queues q ON q.id = h.queue_id)";

constexpr std::string_view migrations_journal = R"(
CREATE TABLE {s}.journal (
  execution uuid NOT NULL,
  position int NOT NULL,
  fence bigint NOT NULL,
  at bigint NOT NULL,
  kind smallint NOT NULL,
  name text COLLATE "C" NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (execution, position)
))";

// Executions that finished in each second, as reported by the sessions' beats. Kept for an hour.
constexpr std::string_view queue_stats = R"(
CREATE TABLE {s}.queue_stats (
  queue_id int NOT NULL,
  at bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  retried bigint NOT NULL,
  PRIMARY KEY (queue_id, at)
))";

}  // namespace

std::vector<std::string_view> migration(int version) {
  switch (version) {
    case 1:
      return {migrations_queues, queues_draining,        migrations_live,       live_claim,         live_suspects,
              live_delayed,      live_running,           live_deadline,         migrations_history, history_dead,
              history_default,   history_default_expiry, migrations_identities, attempts,           sessions,
              json_or_null,      migrations_executions};
    case 2: return {migrations_journal, queue_stats};
    case 3: return migration_3();
    case 4: return migration_4();
    case 5: return migration_5();
    case 6: return migration_6();
    case 7: return migration_7();
    case 8: return migration_8();
    default: return {};
  }
}

int usable_from(int version) {
  switch (version) {
    case 1:
    case 2: return 1;
    case 5:
    case 6:
    case 7:
    case 8: return 4;
    default: return version;
  }
}

}  // namespace hapax::store::postgres
