// The SQL that makes the whole schema, version 9. A published version is never edited; every change is a new version
// (schema.cpp).
//
// Times and durations are microseconds, ids are 16 bytes, hashes 32. Wide and rarely read columns come last, so that
// reading a row's state does not walk over its payload. The columns behind the payload are NULL in most rows: a NULL
// costs a byte and is read from the row's header.
#pragma once

namespace hapax::store::sqlite {

inline constexpr const char* schema_sql = R"sql(
CREATE TABLE queues(
  id INTEGER PRIMARY KEY,              -- never reused: rows are not deleted
  ns TEXT NOT NULL,
  name TEXT NOT NULL,
  paused INTEGER NOT NULL DEFAULT 0,
  draining INTEGER NOT NULL DEFAULT 0,
  retention_us INTEGER NOT NULL,
  failed_retention_us INTEGER,         -- NULL: as retention_us
  retention_given INTEGER NOT NULL DEFAULT 0,  -- 0: by kind, whatever retention_us says
  dedup_window_us INTEGER,
  limits TEXT,                         -- JSON; NULL: none
  rate_arrival INTEGER,                -- the rate limit's state
  keyed INTEGER NOT NULL DEFAULT 0,    -- an execution with a limit key was once in it
  UNIQUE(ns, name));

-- Pending and running executions only, so that claims never meet history.
CREATE TABLE live(
  id BLOB PRIMARY KEY,
  queue_id INTEGER NOT NULL,
  line INTEGER NOT NULL,               -- made from queue, state, lost, priority and session: see claim_order.hpp
  state INTEGER NOT NULL,              -- 0 ready, 1 running, 2 delayed, 3 parked: behind others of its limit key
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
  input TEXT NOT NULL,
  limit_key TEXT,                      -- "o:…" ordered, "c:…" not
  weight INTEGER,                      -- NULL: 1
  counted INTEGER,                     -- 1: without a limit key, and yet a row of `limited`
  superseded INTEGER,                  -- 1: a later run took over its identity
  inbox INTEGER,                       -- the number of the newest event; NULL: none came yet
  waited INTEGER,                      -- 1: `waiters` has rows for it
  stuck TEXT) WITHOUT ROWID;

CREATE INDEX live_line ON live(line, run_at, id);
CREATE INDEX live_deadline ON live(deadline) WHERE deadline IS NOT NULL;
-- The executions that workflows and activities started.
CREATE INDEX live_parent ON live(parent, id) WHERE parent IS NOT NULL;

-- Finished executions. Only operators' marks and the marks of later runs are ever changed.
CREATE TABLE history(
  id BLOB PRIMARY KEY,
  queue_id INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  status INTEGER NOT NULL,             -- hapax::Status
  fence INTEGER NOT NULL,
  finish_kind INTEGER,                 -- the last finish accepted under this fence; NULL: there was none
  dead INTEGER NOT NULL,               -- stands in the dead-letter list
  superseded INTEGER NOT NULL DEFAULT 0,  -- a later run took over its identity
  session BLOB,                        -- the session whose attempt ended it; NULL: it was pending or lost
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
  input TEXT NOT NULL,
  limit_key TEXT,
  weight INTEGER,
  stub INTEGER,                        -- 1: it holds no identity, its input is gone
  continued_as BLOB) WITHOUT ROWID;

CREATE INDEX history_dead ON history(queue_id, id) WHERE dead = 1;
CREATE INDEX history_superseded ON history(identity) WHERE superseded = 1;
-- The status stands before the id, as the last run that completed may be behind any number of others.
CREATE INDEX history_parent ON history(parent, status, id) WHERE parent IS NOT NULL;

-- The stretches of history that retention reads: some rows whose ids were made in id_hour expire in expiry_hour. One
-- row serves a whole hour's work, in place of an index entry for each execution.
CREATE TABLE expiries(expiry_hour INTEGER NOT NULL, id_hour INTEGER NOT NULL,
  PRIMARY KEY(expiry_hour, id_hour)) WITHOUT ROWID;

-- One row per identity; the execution and hold_until say whether the identity is still held.
CREATE TABLE identities(
  identity BLOB PRIMARY KEY,
  execution BLOB NOT NULL,
  run INTEGER NOT NULL,
  fingerprint BLOB,
  created_at INTEGER NOT NULL,
  hold_until INTEGER,
  hold_for INTEGER,                    -- at least so long after the end
  ended_as INTEGER,                    -- with hold_until: a tombstone, its execution is deleted
  ended_at INTEGER,
  queue_id INTEGER,                    -- of a tombstone: the queue of the execution whose record is gone
  name BLOB) WITHOUT ROWID;            -- of an event's run (decision 58); free again when the row is deleted

CREATE INDEX identities_hold_until ON identities(hold_until) WHERE hold_until IS NOT NULL;
CREATE INDEX identities_buried ON identities(execution) WHERE hold_until IS NOT NULL;
CREATE UNIQUE INDEX identities_name ON identities(name) WHERE name IS NOT NULL;

-- Live executions whose identity a later run holds.
CREATE TABLE overtaken(identity BLOB NOT NULL, execution BLOB NOT NULL,
  PRIMARY KEY(identity, execution)) WITHOUT ROWID;

-- The executions that limits look at, so that live needs no index for them: all live executions with a limit key, and
-- those that run in a queue with a concurrency limit. live.limit_key and live.counted tell which executions are here.
CREATE TABLE limited(
  execution BLOB PRIMARY KEY,
  queue_id INTEGER NOT NULL,
  state INTEGER NOT NULL,              -- 0 ready or delayed, 1 running, 2 parked
  limit_key TEXT,
  rank INTEGER NOT NULL,               -- of an ordered key the sequence, 0 once claimed; else the negative priority
  run_at INTEGER NOT NULL,
  session BLOB) WITHOUT ROWID;

-- The running executions by queue and key, and each key's parked executions in the order in which they return.
CREATE INDEX limited_order ON limited(queue_id, state, limit_key, rank, run_at, execution, session);

-- The rate limit's state of each key that has to wait, or parked executions wait for.
CREATE TABLE key_rates(queue_id INTEGER NOT NULL, limit_key TEXT NOT NULL, arrival INTEGER NOT NULL,
  PRIMARY KEY(queue_id, limit_key)) WITHOUT ROWID;

CREATE INDEX key_rates_arrival ON key_rates(queue_id, arrival);

-- Attempts that did not end their execution. The fence tells a snoozed attempt from the one that repeats its number.
CREATE TABLE attempts(execution BLOB NOT NULL, fence INTEGER NOT NULL, number INTEGER NOT NULL, worker TEXT,
  started_at INTEGER, ended_at INTEGER, outcome TEXT NOT NULL, error TEXT,
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

CREATE TABLE journal(
  execution BLOB NOT NULL,
  position INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  at INTEGER NOT NULL,
  child BLOB,                          -- what the entry started, or joined
  PRIMARY KEY(execution, position)) WITHOUT ROWID;

-- The events that reached a workflow from outside, by number from 1.
CREATE TABLE events(
  execution BLOB NOT NULL,
  number INTEGER NOT NULL,
  kind INTEGER NOT NULL,               -- hapax::model::EventKind
  at INTEGER NOT NULL,
  position INTEGER NOT NULL,           -- of the journal entry it answers; 0 for others
  status INTEGER NOT NULL,             -- hapax::Status
  child BLOB,
  name TEXT,
  error TEXT,
  data TEXT,
  PRIMARY KEY(execution, number)) WITHOUT ROWID;

-- Keys of signals that are sent once. The keys have a table of their own, as a key goes over to the next run without its
-- signal.
CREATE TABLE signal_keys(execution BLOB NOT NULL, signal_key TEXT NOT NULL,
  PRIMARY KEY(execution, signal_key)) WITHOUT ROWID;

-- The workflows whose journal entries wait for the end of a live execution.
CREATE TABLE waiters(execution BLOB NOT NULL, waiter BLOB NOT NULL, position INTEGER NOT NULL,
  PRIMARY KEY(execution, waiter, position)) WITHOUT ROWID;

-- Counts of finished executions, by the second in which a worker's beat reported them.
CREATE TABLE queue_stats(queue_id INTEGER NOT NULL, second INTEGER NOT NULL, completed INTEGER NOT NULL,
  failed INTEGER NOT NULL, retried INTEGER NOT NULL, PRIMARY KEY(queue_id, second)) WITHOUT ROWID;

CREATE TABLE tasks(ns TEXT NOT NULL, name TEXT NOT NULL, definition TEXT NOT NULL, origin TEXT NOT NULL,
  updated_at INTEGER NOT NULL, PRIMARY KEY(ns, name)) WITHOUT ROWID;

CREATE TABLE settings(ns TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY(ns, name)) WITHOUT ROWID;

-- The triggers raise a namespace's version at each change of its tasks and settings. An admission compares the version
-- with the one that its request was made by. Rows are never deleted.
CREATE TABLE catalogue_versions(ns TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;

CREATE TRIGGER tasks_added AFTER INSERT ON tasks BEGIN INSERT INTO catalogue_versions(ns, version)
  VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1; END;
CREATE TRIGGER tasks_changed AFTER UPDATE ON tasks BEGIN INSERT INTO catalogue_versions(ns, version)
  VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1; END;
CREATE TRIGGER tasks_removed AFTER DELETE ON tasks BEGIN INSERT INTO catalogue_versions(ns, version)
  VALUES (OLD.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1; END;
CREATE TRIGGER settings_added AFTER INSERT ON settings BEGIN INSERT INTO catalogue_versions(ns, version)
  VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1; END;
CREATE TRIGGER settings_changed AFTER UPDATE ON settings BEGIN INSERT INTO catalogue_versions(ns, version)
  VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1; END;
CREATE TRIGGER settings_removed AFTER DELETE ON settings BEGIN INSERT INTO catalogue_versions(ns, version)
  VALUES (OLD.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1; END;

CREATE TABLE audit(id INTEGER PRIMARY KEY, at INTEGER NOT NULL, ns TEXT NOT NULL, actor TEXT NOT NULL,
  action TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL);

CREATE INDEX audit_ns ON audit(ns);
CREATE INDEX audit_subject ON audit(ns, subject);
CREATE INDEX audit_at ON audit(at);

-- A revoked token stays: the audit names it, and a server whose last token is revoked must not open up.
CREATE TABLE tokens(
  id BLOB PRIMARY KEY,
  ns TEXT NOT NULL,
  name TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,           -- SHA-256 of the secret, which is stored nowhere
  scopes INTEGER NOT NULL,             -- hapax::model::TokenScope, bits
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  expires_at INTEGER,                  -- NULL: never
  revoked_at INTEGER,
  last_used_at INTEGER) WITHOUT ROWID;

CREATE INDEX tokens_ns ON tokens(ns, id);

-- The table has rowids, as definitions are wide. A removed activity stays, so that it goes on if it is made again.
CREATE TABLE activities(
  ns TEXT NOT NULL,
  id TEXT NOT NULL,
  uuid BLOB NOT NULL UNIQUE,           -- the parent of its runs
  revision INTEGER NOT NULL,
  version INTEGER NOT NULL,            -- of the definition
  kind INTEGER NOT NULL,               -- hapax::model::ActivityKind
  paused INTEGER NOT NULL,
  removed INTEGER NOT NULL,
  cursor INTEGER NOT NULL,
  next_due INTEGER,                    -- NULL: never; always NULL for event, paused and removed activities
  last_started INTEGER,
  started INTEGER NOT NULL,
  duplicates INTEGER NOT NULL,
  missed INTEGER NOT NULL,
  overlapped INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,         -- of the definition
  note TEXT NOT NULL,
  trouble TEXT NOT NULL,
  definition TEXT NOT NULL,
  PRIMARY KEY(ns, id));

-- The ticker reads this index only.
CREATE INDEX activities_due ON activities(next_due, ns, id) WHERE next_due IS NOT NULL;

CREATE TABLE activity_versions(ns TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, at INTEGER NOT NULL,
  actor TEXT NOT NULL, definition TEXT NOT NULL, PRIMARY KEY(ns, id, version));

-- The number grows with every definition, pause and removal in the namespace.
CREATE TABLE activity_generations(ns TEXT PRIMARY KEY, generation INTEGER NOT NULL) WITHOUT ROWID;

-- Views for operators at a SQL prompt. hex(NULL) is an empty text: nullif makes it NULL again.
CREATE VIEW executions AS
WITH every AS (
  SELECT id, queue_id, task, kind, CASE state WHEN 1 THEN 'running' ELSE 'pending' END AS status, priority, run,
         attempt, max_attempts, lost, max_lost, fence, created_at, run_at, claimed_at AS started_at,
         NULL AS finished_at, NULL AS expires_at, deadline, session, NULL AS worker, identity, identity_key, parent,
         labels, progress, progress_message, cancel_requested, 0 AS dead, NULL AS retried_as, NULL AS note, input,
         NULL AS result, NULL AS error, limit_key, state = 3 AS parked, state <> 1 AND finish_kind IS 7 AS waiting, stuck,
         NULL AS continued_as FROM live
  UNION ALL
  SELECT id, queue_id, task, kind,
         CASE status WHEN 2 THEN 'completed' WHEN 3 THEN 'failed' WHEN 4 THEN 'cancelled' WHEN 5 THEN 'timed_out' END,
         priority, run, attempt, max_attempts, lost, max_lost, fence, created_at, run_at, started_at, finished_at,
         expires_at, deadline, session, worker, identity, identity_key, parent, labels, NULL, NULL, 0, dead, retried_as,
         note, input, result, error, limit_key, 0, 0, NULL, continued_as FROM history)
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
       nullif(lower(substr(hex(e.session), 1, 8) || '-' || substr(hex(e.session), 9, 4) || '-' ||
                    substr(hex(e.session), 13, 4) || '-' || substr(hex(e.session), 17, 4) || '-' ||
                    substr(hex(e.session), 21)), '----') AS session,
       coalesce(e.worker, (SELECT s.worker FROM sessions s WHERE s.id = e.session)) AS worker,
       nullif(lower(hex(e.identity)), '') AS identity, e.identity_key AS task_id,
       nullif(lower(substr(hex(e.parent), 1, 8) || '-' || substr(hex(e.parent), 9, 4) || '-' ||
                    substr(hex(e.parent), 13, 4) || '-' || substr(hex(e.parent), 17, 4) || '-' ||
                    substr(hex(e.parent), 21)), '----') AS parent,
       e.labels, e.progress, e.progress_message, e.cancel_requested, e.dead,
       nullif(lower(substr(hex(e.retried_as), 1, 8) || '-' || substr(hex(e.retried_as), 9, 4) || '-' ||
                    substr(hex(e.retried_as), 13, 4) || '-' || substr(hex(e.retried_as), 17, 4) || '-' ||
                    substr(hex(e.retried_as), 21)), '----') AS retried_as,
       e.note, e.input, e.result, e.error, substr(e.limit_key, 3) AS limit_key, e.parked, e.waiting,
       e.stuck,
       nullif(lower(substr(hex(e.continued_as), 1, 8) || '-' || substr(hex(e.continued_as), 9, 4) || '-' ||
                    substr(hex(e.continued_as), 13, 4) || '-' || substr(hex(e.continued_as), 17, 4) || '-' ||
                    substr(hex(e.continued_as), 21)), '----') AS continued_as
FROM every e JOIN queues q ON q.id = e.queue_id;

-- A run that was retried or continued is shown by its latest execution.
CREATE VIEW activity_runs AS
WITH every AS (
  SELECT id, queue_id, parent, identity_key, task, kind,
         CASE state WHEN 1 THEN 'running' ELSE 'pending' END AS status, run, attempt, created_at, run_at,
         claimed_at AS started_at, CAST(NULL AS INTEGER) AS finished_at, CAST(NULL AS TEXT) AS error FROM live
  UNION ALL
  SELECT id, queue_id, parent, identity_key, task, kind,
         CASE status WHEN 2 THEN 'completed' WHEN 3 THEN 'failed' WHEN 4 THEN 'cancelled' WHEN 5 THEN 'timed_out' END,
         run, attempt, created_at, run_at, started_at, finished_at, error
  FROM history WHERE retried_as IS NULL AND continued_as IS NULL)
SELECT a.ns AS namespace, a.id AS activity, e.identity_key AS run_id,
       lower(substr(hex(e.id), 1, 8) || '-' || substr(hex(e.id), 9, 4) || '-' || substr(hex(e.id), 13, 4) || '-' ||
             substr(hex(e.id), 17, 4) || '-' || substr(hex(e.id), 21)) AS execution,
       e.task, CASE e.kind WHEN 0 THEN 'task' WHEN 1 THEN 'workflow' WHEN 2 THEN 'guard' END AS kind,
       q.name AS queue, e.status, e.run, e.attempt,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1000000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.run_at / 1000000.0, 'unixepoch') AS run_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.started_at / 1000000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.finished_at / 1000000.0, 'unixepoch') AS finished_at,
       e.error
FROM activities a JOIN every e ON e.parent = a.uuid JOIN queues q ON q.id = e.queue_id;

-- The executions that runs of activities started: the definition's tasks and a workflow's children.
CREATE VIEW task_instances AS
WITH parents AS (
  SELECT id, parent, identity_key FROM live UNION ALL SELECT id, parent, identity_key FROM history),
every AS (
  SELECT id, queue_id, parent, identity_key, task, kind,
         CASE state WHEN 1 THEN 'running' ELSE 'pending' END AS status, run, attempt, created_at, run_at,
         claimed_at AS started_at, CAST(NULL AS INTEGER) AS finished_at, CAST(NULL AS TEXT) AS error FROM live
  UNION ALL
  SELECT id, queue_id, parent, identity_key, task, kind,
         CASE status WHEN 2 THEN 'completed' WHEN 3 THEN 'failed' WHEN 4 THEN 'cancelled' WHEN 5 THEN 'timed_out' END,
         run, attempt, created_at, run_at, started_at, finished_at, error
  FROM history WHERE retried_as IS NULL AND continued_as IS NULL)
SELECT a.ns AS namespace, a.id AS activity, p.identity_key AS run_id, e.identity_key AS task_instance_id,
       lower(substr(hex(e.id), 1, 8) || '-' || substr(hex(e.id), 9, 4) || '-' || substr(hex(e.id), 13, 4) || '-' ||
             substr(hex(e.id), 17, 4) || '-' || substr(hex(e.id), 21)) AS execution,
       e.task AS task_type, CASE e.kind WHEN 0 THEN 'task' WHEN 1 THEN 'workflow' WHEN 2 THEN 'guard' END AS kind,
       q.name AS queue, e.status, e.run, e.attempt,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1000000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.run_at / 1000000.0, 'unixepoch') AS run_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.started_at / 1000000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.finished_at / 1000000.0, 'unixepoch') AS finished_at,
       e.error
FROM activities a JOIN parents p ON p.parent = a.uuid JOIN every e ON e.parent = p.id JOIN queues q ON q.id = e.queue_id;
)sql";

}  // namespace hapax::store::sqlite
