// The SQL of schema version 7, one block per change.
#pragma once

namespace hapax::store::sqlite {

// ---- The key is called task_id, as everywhere else ----------------------------------------------------------------
// Only SQL prompts read the view, so an older build works on the new schema.
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

-- ---- A declaration counts on every server at once, and a tombstone answers by namespace -------------------------------
-- Raised by each change of a namespace's tasks and settings, whoever makes it: an admission compares it with the version
-- that its request was made by. Rows are never deleted.
CREATE TABLE catalogue_versions(
  ns TEXT PRIMARY KEY,
  version INTEGER NOT NULL) WITHOUT ROWID;

CREATE TRIGGER tasks_added AFTER INSERT ON tasks BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER tasks_changed AFTER UPDATE ON tasks BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER tasks_removed AFTER DELETE ON tasks BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (OLD.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER settings_added AFTER INSERT ON settings BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER settings_changed AFTER UPDATE ON settings BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER settings_removed AFTER DELETE ON settings BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (OLD.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;

-- Of a tombstone: the queue of the execution whose record is gone, so that asking for its result is answered by namespace.
ALTER TABLE identities ADD COLUMN queue_id INTEGER;
CREATE INDEX identities_buried ON identities(execution) WHERE hold_until IS NOT NULL;
)sql";

}  // namespace hapax::store::sqlite
