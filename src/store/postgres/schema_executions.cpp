// The tables of queues, executions and what belongs to them.
#include "store/postgres/schema.hpp"

namespace hapax::store::postgres {

namespace {

// Text is compared by bytes (COLLATE "C"), as everywhere in hapax. Instants and durations are whole microseconds.
//
// retention_us: NULL means the default of the execution's kind. `limited` makes claims respect limits. `limited_since`
// is when it became true, as claims in progress at that time did not mark what they took (live.held).
constexpr std::string_view queues_table = R"(
CREATE TABLE {s}.queues (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ns text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  paused boolean NOT NULL DEFAULT false,
  draining boolean NOT NULL DEFAULT false,
  retention_us bigint,
  failed_retention_us bigint,
  dedup_window_us bigint,
  limits text COLLATE "C",
  keyed boolean NOT NULL DEFAULT false,
  limited boolean GENERATED ALWAYS AS (limits IS NOT NULL OR keyed) STORED,
  limited_since bigint NOT NULL DEFAULT 0,
  UNIQUE (ns, name)
))";

// Every admission reads the draining queues; hardly any queue drains.
constexpr std::string_view queues_draining = "CREATE INDEX queues_draining ON {s}.queues (id) WHERE draining";

// Pending and running executions only. Updates move rows between partial indexes, so they are never HOT; the space left
// in each page keeps the new version beside the old. Vacuum starts early and unthrottled, because dead rows slow a
// queue most.
//
// The columns from `held` to `limit_key` are NULL for an execution without limit key that never ran under limits. `held`
// is set by claims under limits and has a meaning only while the row runs. weight: NULL is 1. A parked row has state 3.
//
// The columns from `inbox` on are NULL for a plain task. `inbox` is the number of the newest event; NULL is 0. The
// waiters of an execution are stored in its own row, so that the transaction which ends it, and so has its newest
// version, knows them all. A workflow that waits has left_by 7 and is not running.
constexpr std::string_view live_table = R"(
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
  cancel_error text COLLATE "C",
  held boolean,
  weight int,
  sequence bigint,
  limit_key text COLLATE "C",
  inbox bigint,
  waiters uuid[],
  waiter_positions int[],
  stuck text COLLATE "C"
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

constexpr std::string_view live_sequence = "CREATE SEQUENCE {s}.live_sequence";

// All executions of a limit key by state, and those of an ordered key by sequence.
constexpr std::string_view live_keys =
    "CREATE INDEX live_keys ON {s}.live (queue_id, limit_key, state, sequence) WHERE limit_key IS NOT NULL";

constexpr std::string_view live_parked =
    "CREATE INDEX live_parked ON {s}.live (queue_id, limit_key, priority DESC, run_at, id) WHERE state = 3";

constexpr std::string_view live_held = "CREATE INDEX live_held ON {s}.live (queue_id) WHERE state = 1 AND held";

// Executions without parent are not in this index, nor in history_parent.
constexpr std::string_view live_parent = "CREATE INDEX live_parent ON {s}.live (parent, id) WHERE parent IS NOT NULL";

// Finished executions, by day of expiry: retention drops whole partitions.
constexpr std::string_view history_table = R"(
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
  stub boolean,
  weight int,
  limit_key text COLLATE "C",
  continued_as uuid,
  PRIMARY KEY (id, expires_at)
) PARTITION BY RANGE (expires_at))";

constexpr std::string_view history_dead = "CREATE INDEX history_dead ON {s}.history (queue_id, id) WHERE dead";

constexpr std::string_view history_parent =
    "CREATE INDEX history_parent ON {s}.history (parent, id) WHERE parent IS NOT NULL";

// For days that have no partition. The rows here are deleted one by one, so there is an index by expiry.
constexpr std::string_view history_default = "CREATE TABLE {s}.history_default PARTITION OF {s}.history DEFAULT";

constexpr std::string_view history_default_expiry =
    "CREATE INDEX history_default_expiry ON {s}.history_default (expires_at)";

// hold_until, ended_as, ended_at and queue_id are set for a tombstone: the execution's record is gone, and a request for
// its result is answered only in the namespace of its queue. `name` is the name of an event's run (decision 58) and
// belongs to the identity: when the identity's row is deleted, another identity may take the name.
constexpr std::string_view identities_table = R"(
CREATE TABLE {s}.identities (
  identity bytea NOT NULL PRIMARY KEY,
  execution uuid NOT NULL,
  run int NOT NULL,
  fingerprint bytea,
  created_at bigint NOT NULL,
  hold_until bigint,
  hold_for bigint,
  ended_as smallint,
  ended_at bigint,
  queue_id int,
  name bytea
))";

constexpr std::string_view identities_tombstones =
    "CREATE INDEX identities_tombstones ON {s}.identities (hold_until) WHERE hold_until IS NOT NULL";

constexpr std::string_view identities_buried =
    "CREATE INDEX identities_buried ON {s}.identities (execution) WHERE hold_until IS NOT NULL";

constexpr std::string_view identities_by_name =
    "CREATE UNIQUE INDEX identities_name ON {s}.identities (name) WHERE name IS NOT NULL";

// Attempts that ended while their execution went on. Outcomes: 0 failed, 1 snoozed, 2 lost.
constexpr std::string_view attempts_table = R"(
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

constexpr std::string_view sessions_table = R"(
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

// child: the execution that the entry started.
constexpr std::string_view journal_table = R"(
CREATE TABLE {s}.journal (
  execution uuid NOT NULL,
  position int NOT NULL,
  fence bigint NOT NULL,
  at bigint NOT NULL,
  kind smallint NOT NULL,
  name text COLLATE "C" NOT NULL,
  data bytea NOT NULL,
  child uuid,
  PRIMARY KEY (execution, position)
))";

// signal_key: "k:" and the sender's key, or "i:" and an id made by the store, by which a signal whose answer was lost
// is found again. Rows with numbers below zero are not events: they hold the keys of an earlier run's signals.
constexpr std::string_view events_table = R"(
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

// Executions that finished in each second, as reported by the sessions' beats. Kept for an hour.
constexpr std::string_view queue_stats_table = R"(
CREATE TABLE {s}.queue_stats (
  queue_id int NOT NULL,
  at bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  retried bigint NOT NULL,
  PRIMARY KEY (queue_id, at)
))";

// Theoretical arrival times (model/rate.hpp). The queue's own is stored under the empty key, which no encoded limit key
// equals. A time that has passed means the same as none. These are not columns of `queues`, which every enqueue and
// claim reads.
constexpr std::string_view rates_table = R"(
CREATE TABLE {s}.rates (
  queue_id int NOT NULL,
  limit_key text COLLATE "C" NOT NULL,
  arrival bigint NOT NULL,
  PRIMARY KEY (queue_id, limit_key)
) WITH (autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.02))";

constexpr std::string_view rates_passed = "CREATE INDEX rates_passed ON {s}.rates (arrival)";

}  // namespace

std::vector<std::string_view> execution_tables() {
  return {queues_table,       queues_draining,       live_table,
          live_claim,         live_suspects,         live_delayed,
          live_running,       live_deadline,         live_sequence,
          live_keys,          live_parked,           live_held,
          live_parent,        history_table,         history_dead,
          history_parent,     history_default,       history_default_expiry,
          identities_table,   identities_tombstones, identities_buried,
          identities_by_name, attempts_table,        sessions_table,
          journal_table,      events_table,          events_signal_keys,
          queue_stats_table,  rates_table,           rates_passed};
}

}  // namespace hapax::store::postgres
