// The SQL of schema version 5: activities.
#pragma once

namespace hapax::store::sqlite {

inline constexpr const char* schema_v5 = R"sql(
-- With rowids, as definitions are wide. One that was removed stays, so that it goes on if it is made again.
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
  next_due INTEGER,                    -- NULL: never; of event, paused and removed ones always
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

-- All that the ticker looks at.
CREATE INDEX activities_due ON activities(next_due, ns, id) WHERE next_due IS NOT NULL;

CREATE TABLE activity_versions(
  ns TEXT NOT NULL,
  id TEXT NOT NULL,
  version INTEGER NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  definition TEXT NOT NULL,
  PRIMARY KEY(ns, id, version));

-- Grows with every definition, pause and removal in the namespace.
CREATE TABLE activity_generations(
  ns TEXT PRIMARY KEY,
  generation INTEGER NOT NULL) WITHOUT ROWID;

-- What workflows and activities started. The status stands before the id, as the last run that completed may be behind
-- any number of others.
CREATE INDEX live_parent ON live(parent, id) WHERE parent IS NOT NULL;
CREATE INDEX history_parent ON history(parent, status, id) WHERE parent IS NOT NULL;

-- For people with a SQL prompt. Of a run that was retried or went on as another, the latest execution.
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

-- What runs of activities started: the tasks of the definition and, of a workflow, its children.
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
