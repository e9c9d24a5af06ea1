// Version 5: activities.
//
// A build that knows only version 4 neither reads nor changes activities, and runs what they start like any execution.
// So it may run beside builds that tick.
#include "store/postgres/migrations.hpp"

namespace hapax::store::postgres {

namespace {

// The row of a removed activity stays, so that an activity created again continues its revisions, versions and counts.
// next_due is set only for activities that the ticker must look at. Each tick updates one row, so pages keep free space
// and vacuum starts early.
constexpr std::string_view activities = R"(
CREATE TABLE {s}.activities (
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  uuid uuid NOT NULL UNIQUE,
  revision bigint NOT NULL,
  version int NOT NULL,
  kind smallint NOT NULL,
  paused boolean NOT NULL DEFAULT false,
  removed boolean NOT NULL,
  cursor bigint NOT NULL,
  next_due bigint,
  last_started bigint,
  started bigint NOT NULL DEFAULT 0,
  duplicates bigint NOT NULL DEFAULT 0,
  missed bigint NOT NULL DEFAULT 0,
  overlapped bigint NOT NULL DEFAULT 0,
  refused bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  note text COLLATE "C" NOT NULL DEFAULT '',
  trouble text COLLATE "C" NOT NULL DEFAULT '',
  definition text COLLATE "C" NOT NULL,
  PRIMARY KEY (ns, id)
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.02))";
constexpr std::string_view activities_due =
    "CREATE INDEX activities_due ON {s}.activities (next_due, ns, id) WHERE next_due IS NOT NULL";

constexpr std::string_view activity_versions = R"(
CREATE TABLE {s}.activity_versions (
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version int NOT NULL,
  definition text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (ns, id, version)
))";

constexpr std::string_view activity_generations = R"(
CREATE TABLE {s}.activity_generations (
  ns text COLLATE "C" NOT NULL PRIMARY KEY,
  generation bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0))";

// Executions without parent are not in these indexes. The history's index is built under a lock that outcomes wait for.
constexpr std::string_view live_parent = "CREATE INDEX live_parent ON {s}.live (parent, id) WHERE parent IS NOT NULL";
constexpr std::string_view history_parent =
    "CREATE INDEX history_parent ON {s}.history (parent, id) WHERE parent IS NOT NULL";

// One record of each run and of each of its task instances. A run that was retried or continued is shown by the
// execution that followed. LATERAL, so that the runs of one activity are found by the parent indexes.
constexpr std::string_view activity_runs = R"(
CREATE VIEW {s}.activity_runs AS
SELECT a.ns AS namespace, a.id AS activity, e.identity_key AS run_id, e.id AS execution, e.task,
       CASE e.kind WHEN 0 THEN 'task' WHEN 1 THEN 'workflow' ELSE 'guard' END AS kind, q.name AS queue, e.status, e.run,
       e.attempt, to_timestamp(e.created_at / 1000000.0) AS created_at, to_timestamp(e.run_at / 1000000.0) AS run_at,
       to_timestamp(e.started_at / 1000000.0) AS started_at, to_timestamp(e.finished_at / 1000000.0) AS finished_at,
       e.error
FROM {s}.activities a
CROSS JOIN LATERAL (
  SELECT l.id, l.queue_id, l.task, l.kind, l.identity_key, l.run, l.attempt,
         CASE l.state WHEN 1 THEN 'running' ELSE 'pending' END AS status, l.created_at, l.run_at,
         l.claimed_at AS started_at, NULL::bigint AS finished_at, NULL::jsonb AS error
  FROM {s}.live l WHERE l.parent = a.uuid
  UNION ALL
  SELECT h.id, h.queue_id, h.task, h.kind, h.identity_key, h.run, h.attempt,
         CASE h.status WHEN 2 THEN 'completed' WHEN 3 THEN 'failed' WHEN 4 THEN 'cancelled' ELSE 'timed_out' END,
         h.created_at, h.run_at, h.started_at, h.finished_at, h.error::jsonb
  FROM {s}.history h WHERE h.parent = a.uuid AND h.retried_as IS NULL AND h.continued_as IS NULL) e
JOIN {s}.queues q ON q.id = e.queue_id)";

// The tasks of the activity's definition and, for a workflow, its children.
constexpr std::string_view task_instances = R"(
CREATE VIEW {s}.task_instances AS
SELECT a.ns AS namespace, a.id AS activity, r.identity_key AS run_id, e.identity_key AS task_instance_id,
       e.id AS execution, e.task AS task_type, CASE e.kind WHEN 0 THEN 'task' WHEN 1 THEN 'workflow' ELSE 'guard' END AS kind,
       q.name AS queue, e.status, e.run, e.attempt, to_timestamp(e.created_at / 1000000.0) AS created_at,
       to_timestamp(e.run_at / 1000000.0) AS run_at, to_timestamp(e.started_at / 1000000.0) AS started_at,
       to_timestamp(e.finished_at / 1000000.0) AS finished_at, e.error
FROM {s}.activities a
CROSS JOIN LATERAL (
  SELECT l.id, l.identity_key FROM {s}.live l WHERE l.parent = a.uuid
  UNION ALL
  SELECT h.id, h.identity_key FROM {s}.history h WHERE h.parent = a.uuid) r
CROSS JOIN LATERAL (
  SELECT l.id, l.queue_id, l.task, l.kind, l.identity_key, l.run, l.attempt,
         CASE l.state WHEN 1 THEN 'running' ELSE 'pending' END AS status, l.created_at, l.run_at,
         l.claimed_at AS started_at, NULL::bigint AS finished_at, NULL::jsonb AS error
  FROM {s}.live l WHERE l.parent = r.id
  UNION ALL
  SELECT h.id, h.queue_id, h.task, h.kind, h.identity_key, h.run, h.attempt,
         CASE h.status WHEN 2 THEN 'completed' WHEN 3 THEN 'failed' WHEN 4 THEN 'cancelled' ELSE 'timed_out' END,
         h.created_at, h.run_at, h.started_at, h.finished_at, h.error::jsonb
  FROM {s}.history h WHERE h.parent = r.id AND h.retried_as IS NULL AND h.continued_as IS NULL) e
JOIN {s}.queues q ON q.id = e.queue_id)";

}  // namespace

std::vector<std::string_view> migration_5() {
  return {activities,  activities_due, activity_versions, activity_generations,
          live_parent, history_parent, activity_runs,     task_instances};
}

}  // namespace hapax::store::postgres
