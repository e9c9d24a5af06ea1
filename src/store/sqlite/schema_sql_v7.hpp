// The SQL of schema version 7, a block a change.
#pragma once

namespace hapax::store::sqlite {

// ---- The key is called task_id, as everywhere else ---------------------------------------------------------------------
// Only people with a SQL prompt read the view: an older build works on it all the same.
inline constexpr const char* schema_v7 = R"sql(
-- hex(NULL) is an empty text: nullif makes it NULL again.
DROP VIEW executions;
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
)sql";

}  // namespace hapax::store::sqlite
