// The SQL of schema versions 1 to 3. A published version is never edited; every change is a new version.
//
// Times and durations are microseconds, ids are 16 bytes, hashes 32. Wide and rarely read columns come last, so that
// reading a row's state does not walk over its payload.
#pragma once

namespace hapax::store::sqlite {

inline constexpr const char* schema_v1 = R"sql(
CREATE TABLE queues(
  id INTEGER PRIMARY KEY,              -- never reused: rows are not deleted
  ns TEXT NOT NULL,
  name TEXT NOT NULL,
  paused INTEGER NOT NULL DEFAULT 0,
  draining INTEGER NOT NULL DEFAULT 0,
  retention_us INTEGER NOT NULL,
  failed_retention_us INTEGER,         -- NULL: as retention_us
  UNIQUE(ns, name));

-- Pending and running executions only, so that claims never meet history.
CREATE TABLE live(
  id BLOB PRIMARY KEY,
  queue_id INTEGER NOT NULL,
  line INTEGER NOT NULL,               -- made from queue, state, lost, priority and session: see line.hpp
  state INTEGER NOT NULL,              -- 0 ready, 1 running, 2 delayed
  priority INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  lost INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  session BLOB,
  claim_number INTEGER NOT NULL,
  claimed_at INTEGER,                  -- of the latest claim
  cancel_requested INTEGER NOT NULL,
  finish_kind INTEGER,                 -- the finish that was accepted under this fence, while pending again
  deadline INTEGER,
  task TEXT NOT NULL,
  kind INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  max_lost INTEGER NOT NULL,
  run INTEGER NOT NULL,
  attempt_timeout INTEGER,
  retry TEXT,
  identity BLOB,
  identity_key TEXT,
  effect_key TEXT,
  parent BLOB,
  labels TEXT,
  cancel_reason TEXT,
  progress REAL,
  progress_message TEXT,
  input TEXT NOT NULL) WITHOUT ROWID;

CREATE INDEX live_line ON live(line, run_at, id);
CREATE INDEX live_deadline ON live(deadline) WHERE deadline IS NOT NULL;

-- Finished executions. Only the marks of people and of later runs are ever changed.
CREATE TABLE history(
  id BLOB PRIMARY KEY,
  queue_id INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  status INTEGER NOT NULL,             -- hapax::Status
  fence INTEGER NOT NULL,
  finish_kind INTEGER,                 -- the last finish accepted under this fence; NULL: there was none
  dead INTEGER NOT NULL,               -- stands in the dead-letter list
  superseded INTEGER NOT NULL DEFAULT 0,  -- a later run took over its identity
  session BLOB,                        -- whose attempt ended it; NULL: it was pending or lost
  task TEXT NOT NULL,
  kind INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  lost INTEGER NOT NULL,
  max_lost INTEGER NOT NULL,
  run INTEGER NOT NULL,
  worker TEXT,
  deadline INTEGER,
  attempt_timeout INTEGER,
  retry TEXT,
  identity BLOB,
  identity_key TEXT,
  effect_key TEXT,
  parent BLOB,
  retried_as BLOB,
  note TEXT,
  labels TEXT,
  error TEXT,
  result TEXT,
  input TEXT NOT NULL) WITHOUT ROWID;

CREATE INDEX history_dead ON history(queue_id, id) WHERE dead = 1;
CREATE INDEX history_superseded ON history(identity) WHERE superseded = 1;

-- Where retention has to look: some history rows whose ids were made in id_hour expire in expiry_hour. One row for a
-- whole hour's work, in place of an index entry for each execution.
CREATE TABLE expiries(
  expiry_hour INTEGER NOT NULL,
  id_hour INTEGER NOT NULL,
  PRIMARY KEY(expiry_hour, id_hour)) WITHOUT ROWID;

-- One row per held identity; whether it is still held is told by its execution (and hold_until).
CREATE TABLE identities(
  identity BLOB PRIMARY KEY,
  execution BLOB NOT NULL,
  run INTEGER NOT NULL,
  fingerprint BLOB,
  created_at INTEGER NOT NULL,
  hold_until INTEGER) WITHOUT ROWID;

-- Attempts that did not end their execution. The fence tells a snoozed attempt from the one that repeats its number.
CREATE TABLE attempts(
  execution BLOB NOT NULL,
  fence INTEGER NOT NULL,
  number INTEGER NOT NULL,
  worker TEXT,
  started_at INTEGER,
  ended_at INTEGER,
  outcome TEXT NOT NULL,
  error TEXT,
  PRIMARY KEY(execution, fence)) WITHOUT ROWID;

CREATE TABLE sessions(
  id BLOB PRIMARY KEY,
  worker TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  lease INTEGER NOT NULL,
  queues TEXT NOT NULL,                -- JSON [["ns","name"],…]
  tasks TEXT NOT NULL,                 -- JSON ["name",…]; empty: any
  build TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL) WITHOUT ROWID;

-- For people with a SQL prompt.
CREATE VIEW executions AS
WITH every AS (
  SELECT id, queue_id, task, kind, CASE state WHEN 1 THEN 'running' ELSE 'pending' END AS status, priority, run,
         attempt, max_attempts, lost, max_lost, fence, created_at, run_at, claimed_at AS started_at,
         NULL AS finished_at, NULL AS expires_at, deadline, session, NULL AS worker, identity, identity_key, parent,
         labels, progress, progress_message, cancel_requested, 0 AS dead, NULL AS retried_as, NULL AS note, input,
         NULL AS result, NULL AS error FROM live
  UNION ALL
  SELECT id, queue_id, task, kind,
         CASE status WHEN 2 THEN 'completed' WHEN 3 THEN 'failed' WHEN 4 THEN 'cancelled' WHEN 5 THEN 'timed_out' END,
         priority, run, attempt, max_attempts, lost, max_lost, fence, created_at, run_at, started_at, finished_at,
         expires_at, deadline, session, worker, identity, identity_key, parent, labels, NULL, NULL, 0, dead, retried_as,
         note, input, result, error FROM history)
SELECT lower(substr(hex(e.id), 1, 8) || '-' || substr(hex(e.id), 9, 4) || '-' || substr(hex(e.id), 13, 4) || '-' ||
             substr(hex(e.id), 17, 4) || '-' || substr(hex(e.id), 21)) AS id,
       q.ns AS namespace, q.name AS queue, e.task,
       CASE e.kind WHEN 0 THEN 'task' WHEN 1 THEN 'workflow' WHEN 2 THEN 'guard' END AS kind,
       e.status, e.priority, e.run, e.attempt, e.max_attempts, e.lost, e.max_lost, e.fence,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1000000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.run_at / 1000000.0, 'unixepoch') AS run_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.started_at / 1000000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.finished_at / 1000000.0, 'unixepoch') AS finished_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.expires_at / 1000000.0, 'unixepoch') AS expires_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.deadline / 1000000.0, 'unixepoch') AS deadline,
       lower(substr(hex(e.session), 1, 8) || '-' || substr(hex(e.session), 9, 4) || '-' ||
             substr(hex(e.session), 13, 4) || '-' || substr(hex(e.session), 17, 4) || '-' ||
             substr(hex(e.session), 21)) AS session,
       coalesce(e.worker, (SELECT s.worker FROM sessions s WHERE s.id = e.session)) AS worker,
       lower(hex(e.identity)) AS identity, e.identity_key,
       lower(substr(hex(e.parent), 1, 8) || '-' || substr(hex(e.parent), 9, 4) || '-' || substr(hex(e.parent), 13, 4) ||
             '-' || substr(hex(e.parent), 17, 4) || '-' || substr(hex(e.parent), 21)) AS parent,
       e.labels, e.progress, e.progress_message, e.cancel_requested, e.dead,
       lower(substr(hex(e.retried_as), 1, 8) || '-' || substr(hex(e.retried_as), 9, 4) || '-' ||
             substr(hex(e.retried_as), 13, 4) || '-' || substr(hex(e.retried_as), 17, 4) || '-' ||
             substr(hex(e.retried_as), 21)) AS retried_as,
       e.note, e.input, e.result, e.error
FROM every e JOIN queues q ON q.id = e.queue_id;
)sql";

inline constexpr const char* schema_v2 = R"sql(
CREATE TABLE journal(
  execution BLOB NOT NULL,
  position INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY(execution, position)) WITHOUT ROWID;

-- What finished, by the second in which a worker's beat told it.
CREATE TABLE queue_stats(
  queue_id INTEGER NOT NULL,
  second INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  retried INTEGER NOT NULL,
  PRIMARY KEY(queue_id, second)) WITHOUT ROWID;
)sql";

// New columns of live and history come after the payload and are NULL in most rows. A NULL costs a byte and is read
// from the row's header; a value that is not NULL is read only where the payload is read too.
inline constexpr const char* schema_v3 = R"sql(
ALTER TABLE queues ADD COLUMN retention_given INTEGER NOT NULL DEFAULT 0;  -- 0: by kind, whatever retention_us says
ALTER TABLE queues ADD COLUMN dedup_window_us INTEGER;
ALTER TABLE queues ADD COLUMN limits TEXT;                -- JSON; NULL: none
ALTER TABLE queues ADD COLUMN rate_arrival INTEGER;       -- the rate limit's state
ALTER TABLE queues ADD COLUMN keyed INTEGER NOT NULL DEFAULT 0;  -- an execution with a limit key was once in it
UPDATE queues SET retention_given = 1 WHERE retention_us <> 604800000000;

-- live.state 3: parked, behind others of its limit key.
ALTER TABLE live ADD COLUMN limit_key TEXT;               -- "o:…" ordered, "c:…" not
ALTER TABLE live ADD COLUMN weight INTEGER;               -- NULL: 1
ALTER TABLE live ADD COLUMN counted INTEGER;              -- 1: without a limit key, and yet a row of `limited`
ALTER TABLE live ADD COLUMN superseded INTEGER;           -- 1: a later run took over its identity

ALTER TABLE history ADD COLUMN limit_key TEXT;
ALTER TABLE history ADD COLUMN weight INTEGER;
ALTER TABLE history ADD COLUMN stub INTEGER;              -- 1: it holds no identity, its input is gone

-- What limits have to look at, so that live needs no index for them: all live executions with a limit key, and those
-- that run in a queue with a concurrency limit. live.limit_key and live.counted tell which ones are here.
CREATE TABLE limited(
  execution BLOB PRIMARY KEY,
  queue_id INTEGER NOT NULL,
  state INTEGER NOT NULL,              -- 0 ready or delayed, 1 running, 2 parked
  limit_key TEXT,
  rank INTEGER NOT NULL,               -- of an ordered key the sequence, 0 once claimed; else the negative priority
  run_at INTEGER NOT NULL,
  session BLOB) WITHOUT ROWID;

-- Who runs, by queue and key, and who of a key goes back into the line first.
CREATE INDEX limited_order ON limited(queue_id, state, limit_key, rank, run_at, execution, session);

-- The rate limit's state of each key that has to wait, or is waited for by parked ones.
CREATE TABLE key_rates(
  queue_id INTEGER NOT NULL,
  limit_key TEXT NOT NULL,
  arrival INTEGER NOT NULL,
  PRIMARY KEY(queue_id, limit_key)) WITHOUT ROWID;

CREATE INDEX key_rates_arrival ON key_rates(queue_id, arrival);

ALTER TABLE identities ADD COLUMN hold_for INTEGER;       -- at least so long after the end
ALTER TABLE identities ADD COLUMN ended_as INTEGER;       -- with hold_until: a tombstone, its execution is deleted
ALTER TABLE identities ADD COLUMN ended_at INTEGER;
CREATE INDEX identities_hold_until ON identities(hold_until) WHERE hold_until IS NOT NULL;

-- Live executions whose identity a later run holds.
CREATE TABLE overtaken(
  identity BLOB NOT NULL,
  execution BLOB NOT NULL,
  PRIMARY KEY(identity, execution)) WITHOUT ROWID;

CREATE TABLE tasks(
  ns TEXT NOT NULL,
  name TEXT NOT NULL,
  definition TEXT NOT NULL,
  origin TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY(ns, name)) WITHOUT ROWID;

CREATE TABLE settings(
  ns TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(ns, name)) WITHOUT ROWID;

CREATE TABLE audit(
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  ns TEXT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT NOT NULL);

CREATE INDEX audit_ns ON audit(ns);

DROP VIEW executions;
CREATE VIEW executions AS
WITH every AS (
  SELECT id, queue_id, task, kind, CASE state WHEN 1 THEN 'running' ELSE 'pending' END AS status, priority, run,
         attempt, max_attempts, lost, max_lost, fence, created_at, run_at, claimed_at AS started_at,
         NULL AS finished_at, NULL AS expires_at, deadline, session, NULL AS worker, identity, identity_key, parent,
         labels, progress, progress_message, cancel_requested, 0 AS dead, NULL AS retried_as, NULL AS note, input,
         NULL AS result, NULL AS error, limit_key, state = 3 AS parked FROM live
  UNION ALL
  SELECT id, queue_id, task, kind,
         CASE status WHEN 2 THEN 'completed' WHEN 3 THEN 'failed' WHEN 4 THEN 'cancelled' WHEN 5 THEN 'timed_out' END,
         priority, run, attempt, max_attempts, lost, max_lost, fence, created_at, run_at, started_at, finished_at,
         expires_at, deadline, session, worker, identity, identity_key, parent, labels, NULL, NULL, 0, dead, retried_as,
         note, input, result, error, limit_key, 0 FROM history)
SELECT lower(substr(hex(e.id), 1, 8) || '-' || substr(hex(e.id), 9, 4) || '-' || substr(hex(e.id), 13, 4) || '-' ||
             substr(hex(e.id), 17, 4) || '-' || substr(hex(e.id), 21)) AS id,
       q.ns AS namespace, q.name AS queue, e.task,
       CASE e.kind WHEN 0 THEN 'task' WHEN 1 THEN 'workflow' WHEN 2 THEN 'guard' END AS kind,
       e.status, e.priority, e.run, e.attempt, e.max_attempts, e.lost, e.max_lost, e.fence,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1000000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.run_at / 1000000.0, 'unixepoch') AS run_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.started_at / 1000000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.finished_at / 1000000.0, 'unixepoch') AS finished_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.expires_at / 1000000.0, 'unixepoch') AS expires_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.deadline / 1000000.0, 'unixepoch') AS deadline,
       lower(substr(hex(e.session), 1, 8) || '-' || substr(hex(e.session), 9, 4) || '-' ||
             substr(hex(e.session), 13, 4) || '-' || substr(hex(e.session), 17, 4) || '-' ||
             substr(hex(e.session), 21)) AS session,
       coalesce(e.worker, (SELECT s.worker FROM sessions s WHERE s.id = e.session)) AS worker,
       lower(hex(e.identity)) AS identity, e.identity_key,
       lower(substr(hex(e.parent), 1, 8) || '-' || substr(hex(e.parent), 9, 4) || '-' || substr(hex(e.parent), 13, 4) ||
             '-' || substr(hex(e.parent), 17, 4) || '-' || substr(hex(e.parent), 21)) AS parent,
       e.labels, e.progress, e.progress_message, e.cancel_requested, e.dead,
       lower(substr(hex(e.retried_as), 1, 8) || '-' || substr(hex(e.retried_as), 9, 4) || '-' ||
             substr(hex(e.retried_as), 13, 4) || '-' || substr(hex(e.retried_as), 17, 4) || '-' ||
             substr(hex(e.retried_as), 21)) AS retried_as,
       e.note, e.input, e.result, e.error, substr(e.limit_key, 3) AS limit_key, e.parked
FROM every e JOIN queues q ON q.id = e.queue_id;
)sql";

}  // namespace hapax::store::sqlite
