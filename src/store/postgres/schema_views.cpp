// The views for a SQL prompt, and the functions that they use.
//
// Stored text never fails a query (decision 42). Payloads are stored as the bytes that were sent, and jsonb holds less
// than JSON allows: no \u0000, no number beyond numeric (1e-20000), nothing that is not UTF-8. The functions return a
// value for any bytes. Only an exception block agrees with the cast about which bytes are valid. PARALLEL UNSAFE, as an
// exception block is a subtransaction.
#include "store/postgres/schema.hpp"

namespace hapax::store::postgres {

namespace {

// No double distinguishes a number below 1e-400 from 0, but jsonb writes it out with all its zeros: 16 KiB for nine
// bytes. A payload with more than 1,000 such numbers is shown as text too.
constexpr std::string_view as_json_function = R"(
CREATE FUNCTION {s}.as_json(payload bytea) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL UNSAFE
AS $$
DECLARE
  told text;
BEGIN
  told := convert_from(payload, 'UTF8');
  IF told ~ '[eE]-([4-9][0-9][0-9]|[0-9]{4})' AND (
       SELECT count(*) FROM regexp_matches(
         told, '(\[|:|,|\s|^)-?[0-9][0-9.]*[eE]-([4-9][0-9][0-9]|[0-9]{4})', 'g')) > 1000 THEN
    RETURN to_jsonb(told);
  END IF;
  RETURN replace(told, '\u0000', '\ufffd')::jsonb;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
  RETURN to_jsonb(coalesce(told, encode(payload, 'escape')));
END $$)";

// For labels and errors, which are short.
constexpr std::string_view text_as_json_function = R"(
CREATE FUNCTION {s}.text_as_json(stored text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL UNSAFE
AS $$
BEGIN
  RETURN replace(stored, '\u0000', '\ufffd')::jsonb;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
  RETURN to_jsonb(stored);
END $$)";

// As json, the labels are parsed without checking their numbers. Only the tags are cast to jsonb, and they are strings.
constexpr std::string_view has_tag_function = R"(
CREATE FUNCTION {s}.has_tag(labels text, tag text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL UNSAFE
AS $$
BEGIN
  RETURN (replace(labels, '\u0000', '\ufffd')::json -> 'tags')::jsonb ? tag;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
  RETURN false;
END $$)";

// model::MetadataMatch. In json, unlike jsonb, a number stays as it was written.
constexpr std::string_view has_metadata_function = R"(
CREATE FUNCTION {s}.has_metadata(labels text, key text, value text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL UNSAFE
AS $$
DECLARE
  found json;
BEGIN
  found := replace(labels, '\u0000', '\ufffd')::json -> 'metadata' -> key;
  RETURN CASE json_typeof(found) WHEN 'object' THEN false WHEN 'array' THEN false WHEN 'null' THEN value = 'null'
         ELSE found #>> '{}' = value END;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
  RETURN false;
END $$)";

constexpr std::string_view executions_view = R"(
CREATE VIEW {s}.executions AS
SELECT l.id, q.ns AS namespace, q.name AS queue, l.task,
       CASE l.kind WHEN 0 THEN 'task' WHEN 1 THEN 'workflow' ELSE 'guard' END AS kind,
       CASE l.state WHEN 1 THEN 'running' ELSE 'pending' END AS status,
       l.priority, l.run, l.attempt, l.max_attempts, l.lost, l.fence,
       to_timestamp(l.created_at / 1000000.0) AS created_at, to_timestamp(l.run_at / 1000000.0) AS run_at,
       to_timestamp(l.claimed_at / 1000000.0) AS started_at, NULL::timestamptz AS finished_at,
       NULL::timestamptz AS expires_at, to_timestamp(l.deadline / 1000000.0) AS deadline,
       l.identity_key AS task_id, {s}.text_as_json(l.labels) AS labels, {s}.as_json(l.input) AS input,
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
       h.identity_key, {s}.text_as_json(h.labels), {s}.as_json(h.input), {s}.as_json(h.result),
       {s}.text_as_json(h.error), NULL, NULL, false, h.session, h.worker, h.parent, h.dead, h.retried_as, h.note,
       substr(h.limit_key, 3), h.limit_key LIKE 'o:%', false, false, NULL::text, h.continued_as
FROM {s}.history h JOIN {s}.queues q ON q.id = h.queue_id)";

constexpr std::string_view waiters_view = R"(
CREATE VIEW {s}.waiters AS
SELECT l.id AS execution, w.waiter, w.position
FROM {s}.live l CROSS JOIN LATERAL unnest(l.waiters, l.waiter_positions) w(waiter, position)
WHERE l.waiters IS NOT NULL)";

// One record of each run and of each of its task instances. A run that was retried or continued is shown by the
// execution that followed. LATERAL, so that the runs of one activity are found by the parent indexes.
constexpr std::string_view activity_runs_view = R"(
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
         h.created_at, h.run_at, h.started_at, h.finished_at, {s}.text_as_json(h.error)
  FROM {s}.history h WHERE h.parent = a.uuid AND h.retried_as IS NULL AND h.continued_as IS NULL) e
JOIN {s}.queues q ON q.id = e.queue_id)";

// The tasks of the activity's definition and, for a workflow, its children.
constexpr std::string_view task_instances_view = R"(
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
         h.created_at, h.run_at, h.started_at, h.finished_at, {s}.text_as_json(h.error)
  FROM {s}.history h WHERE h.parent = r.id AND h.retried_as IS NULL AND h.continued_as IS NULL) e
JOIN {s}.queues q ON q.id = e.queue_id)";

}  // namespace

std::vector<std::string_view> schema_views() {
  return {as_json_function, text_as_json_function, has_tag_function,   has_metadata_function,
          executions_view,  waiters_view,          activity_runs_view, task_instances_view};
}

}  // namespace hapax::store::postgres
