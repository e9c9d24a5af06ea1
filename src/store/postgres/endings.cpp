#include "store/postgres/endings.hpp"

#include "model/labels.hpp"

namespace hapax::store::postgres {

namespace {

using namespace model;

// A row found by id and fence is deleted and written to history in the same statement, so an execution is in exactly
// one of them at any commit. Left joins, as an attached transaction may have a snapshot older than its queue. How long it
// is kept is model::kept: 7 days (workflows 30) unless the queue says, a stub for 10 minutes where nothing is.
constexpr Statement end_statement{"hapax_end", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
gone AS (
  DELETE FROM {s}.live l
  USING unnest($2::uuid[], $3::bigint[], $4::smallint[], $5::smallint[], $6::bytea[], $7::text[], $8::bigint[])
        u(id, fence, status, left_by, result, error, ran_for)
  WHERE l.id = u.id AND (u.fence < 0 OR (l.fence = u.fence AND l.state = 1))
    AND (u.status IS NOT NULL OR l.cancel_requested)
  RETURNING l.*, coalesce(u.status, 4::smallint) AS status, u.left_by AS ended_by, u.result, u.error, u.ran_for)
INSERT INTO {s}.history (
  id, expires_at, run_at, created_at, finished_at, fence, queue_id, attempt, max_attempts, lost, max_lost, run, kind,
  status, priority, dead, left_by, task, input, result, error, session, worker, started_at, deadline, attempt_timeout,
  retry, identity, identity_key, effect_key, parent, labels, stub, weight, limit_key)
SELECT g.id,
       t.now + CASE WHEN g.status = 2 THEN coalesce(nullif(k.retention, 0), 600000000)
                    ELSE coalesce(nullif(coalesce(q.failed_retention_us, nullif(k.retention, 0), 604800000000), 0), 600000000) END,
       g.run_at, g.created_at, t.now, g.fence, g.queue_id, g.attempt, g.max_attempts, g.lost, g.max_lost, g.run, g.kind,
       g.status, g.priority, g.status = 3, coalesce(g.ended_by, g.left_by), g.task,
       CASE WHEN k.stub THEN 'null'::bytea ELSE g.input END, g.result,
       CASE WHEN g.status = 4 THEN coalesce(g.error, g.cancel_error, $9::text) ELSE g.error END,
       g.session, s.worker, CASE WHEN g.session IS NOT NULL THEN coalesce(t.now - g.ran_for, g.claimed_at) END,
       g.deadline, g.attempt_timeout, g.retry, g.identity, g.identity_key, g.effect_key, g.parent, g.labels,
       CASE WHEN k.stub THEN true END, g.weight, g.limit_key
FROM gone g CROSS JOIN t
LEFT JOIN {s}.queues q ON q.id = g.queue_id
LEFT JOIN {s}.sessions s ON s.id = g.session
CROSS JOIN LATERAL (
  SELECT coalesce(q.retention_us, CASE g.kind WHEN 1 THEN 2592000000000 ELSE 604800000000 END) AS retention,
         g.status = 2 AND q.retention_us = 0 AS stub) k
RETURNING id, queue_id, limit_key)"};

// `was` is the row as it ran: RETURNING shows only what it became. Its fence is the same, so its session is right.
constexpr Statement wait_statement{"hapax_wait", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
back AS (
  UPDATE {s}.live l
  SET state = CASE WHEN CASE WHEN u.why IN (4, 5) THEN t.now + u.delay ELSE l.run_at END > t.now THEN 2 ELSE 0 END,
      run_at = CASE WHEN u.why IN (4, 5) THEN t.now + u.delay ELSE l.run_at END,
      attempt = l.attempt - CASE WHEN u.why IN (5, 6, -1) THEN 1 ELSE 0 END,
      lost = l.lost + CASE WHEN u.why = -2 THEN 1 ELSE 0 END,
      left_by = CASE WHEN u.why > 0 THEN u.why END,
      session = NULL, claim_number = NULL, claimed_at = NULL, progress = NULL, progress_message = NULL
  FROM t, unnest($2::uuid[], $3::bigint[], $4::smallint[], $5::text[], $6::bigint[], $7::bigint[])
            u(id, fence, why, error, delay, ran_for)
       JOIN {s}.live was ON was.id = u.id AND was.fence = u.fence
       LEFT JOIN {s}.sessions s ON s.id = was.session
  WHERE l.id = u.id AND l.fence = u.fence AND l.state = 1 AND (NOT l.cancel_requested OR u.why = -2)
  RETURNING l.id, l.fence, l.lost, l.max_lost, l.cancel_requested, l.queue_id, l.limit_key, was.attempt AS number, was.claimed_at AS claimed_at,
            coalesce(s.worker, '') AS worker, u.why, u.error, u.ran_for, t.now),
noted AS (
  INSERT INTO {s}.attempts (execution, fence, number, outcome, worker, started_at, ended_at, error)
  SELECT id, fence, number, CASE why WHEN 4 THEN 0 WHEN 5 THEN 1 ELSE 2 END, worker,
         CASE WHEN why = -2 THEN claimed_at ELSE now - ran_for END, now, error
  FROM back WHERE why IN (4, 5, -2)
  ON CONFLICT (execution, fence) DO UPDATE SET number = excluded.number, outcome = excluded.outcome,
    worker = excluded.worker, started_at = excluded.started_at, ended_at = excluded.ended_at, error = excluded.error)
SELECT id, lost, max_lost, cancel_requested, queue_id, limit_key FROM back)"};

}  // namespace

std::string cancelled_error(std::string_view reason) {
  return encode_error({.type = "Cancelled", .message = std::string(reason), .detail = ""});
}

Call end_call(const std::vector<Ending>& endings, std::int64_t offset_us) {
  static const std::string no_reason = cancelled_error("");
  const std::size_t n = endings.size();
  Array ids(Type::uuid, n), fences(Type::int8, n), statuses(Type::int2, n), left_by(Type::int2, n);
  Array results(Type::bytea, n), errors(Type::text, n), ran_for(Type::int8, n);
  for (const Ending& ending : endings) {
    ids.uuid(ending.id);
    fences.int8(ending.fence);
    ending.status ? statuses.int2(static_cast<int>(*ending.status)) : statuses.null();
    ending.left_by ? left_by.int2(static_cast<int>(*ending.left_by)) : left_by.null();
    results.optional_bytes(ending.result);
    errors.optional_bytes(ending.error);
    ending.ran_for ? ran_for.int8(ending.ran_for->count()) : ran_for.null();
  }
  Params params;
  params.int8(offset_us);
  for (Array* array : {&ids, &fences, &statuses, &left_by, &results, &errors, &ran_for}) {
    params.array(std::move(*array));
  }
  params.text(no_reason);
  return {&end_statement, std::move(params)};
}

Call wait_call(const std::vector<Waiting>& waiting, std::int64_t offset_us) {
  const std::size_t n = waiting.size();
  Array ids(Type::uuid, n), fences(Type::int8, n), why(Type::int2, n), errors(Type::text, n);
  Array delays(Type::int8, n), ran_for(Type::int8, n);
  for (const Waiting& one : waiting) {
    ids.uuid(one.id);
    fences.int8(one.fence);
    why.int2(static_cast<int>(one.why));
    errors.optional_bytes(one.error);
    delays.int8(one.delay.count());
    ran_for.int8(one.ran_for.count());
  }
  Params params;
  params.int8(offset_us);
  for (Array* array : {&ids, &fences, &why, &errors, &delays, &ran_for}) { params.array(std::move(*array)); }
  return {&wait_statement, std::move(params)};
}

}  // namespace hapax::store::postgres
