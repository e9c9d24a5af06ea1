#include "store/postgres/lone_guard.hpp"

#include "model/retention.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

// set_config is in the same CTE as the time, which the identity needs, so the lock timeout is set before the identity
// is inserted.
constexpr Statement admit_statement{"hapax_admit_guard", R"(
WITH t AS MATERIALIZED (
  SELECT {now} + $1::bigint AS now, set_config('lock_timeout', $2::text, true) AS patience),
held AS (
  INSERT INTO {s}.identities (identity, execution, run, fingerprint, created_at, hold_for)
  SELECT $3::bytea, $4::uuid, 1, $5::bytea, t.now, 0
  FROM t, {s}.queues q, {s}.sessions x
  WHERE q.id = $6::int AND NOT q.draining AND x.id = $7::uuid AND x.expires_at > t.now
  ON CONFLICT (identity) DO NOTHING RETURNING created_at)
INSERT INTO {s}.live (id, queue_id, task, input, kind, state, run_at, created_at, identity, identity_key, run,
                      attempt_timeout, attempt, fence, session, claim_number, claimed_at)
SELECT $4::uuid, $6::int, $8::text, $9::bytea, 2, 1, created_at, created_at, $3::bytea, $10::text, 1,
       $11::bigint, 1, 1, $7::uuid, $12::bigint, created_at
FROM held RETURNING created_at)"};
static_assert(static_cast<int>(Kind::guard) == 2);

// Like end_text in endings.cpp, for one guard that completes with its own retention. With `+ 0` the planner finds the
// row by id.
constexpr std::string_view lone_guard_end_text = R"(
WITH gone AS (
  DELETE FROM {s}.live l WHERE l.id = $2::uuid AND l.fence = $3::bigint AND l.state + 0 = 1
  RETURNING l.*, CASE WHEN l.waiters IS NULL THEN $4::bigint ELSE 1 / (l.fence * 0) END AS ran_for,
            {now} + $1::bigint AS now)
INSERT INTO {s}.{history} (
  id, expires_at, run_at, created_at, finished_at, fence, queue_id, attempt, max_attempts, lost, max_lost, run, kind,
  status, priority, dead, left_by, task, input, result, session, worker, started_at, deadline, attempt_timeout, retry,
  identity, identity_key, effect_key, parent, labels, weight, limit_key)
SELECT g.id, least(g.now + $5::bigint, $6::bigint), g.run_at, g.created_at, g.now, g.fence, g.queue_id, g.attempt,
       g.max_attempts, g.lost, g.max_lost, g.run, g.kind, 2, g.priority, false, 0, g.task, g.input, $7::bytea, g.session,
       (SELECT s.worker FROM {s}.sessions s WHERE s.id = g.session),
       CASE WHEN g.session IS NOT NULL THEN g.now - g.ran_for END, g.deadline, g.attempt_timeout, g.retry, g.identity,
       g.identity_key, g.effect_key, g.parent, g.labels, g.weight, g.limit_key
FROM gone g
RETURNING id, queue_id, limit_key)";
static_assert(static_cast<int>(Status::completed) == 2 && static_cast<int>(FinishKind::completed) == 0);

std::string end_into(std::string_view table) {
  constexpr std::string_view mark = "{history}";
  std::string text(lone_guard_end_text);
  return text.replace(text.find(mark), mark.size(), table);
}

// Records that are kept for ever are in the default partition, which is named here because routing an insert to its
// partition costs more than the rest of the insert.
const Statement& end_statement(bool for_ever) {
  static const std::string& expiring = keep_text(end_into("history"));
  static const std::string& lasting = keep_text(end_into("history_default"));
  static const Statement to_its_day{"hapax_end_guard", expiring.c_str()};
  static const Statement to_default{"hapax_end_lasting_guard", lasting.c_str()};
  return for_ever ? to_default : to_its_day;
}

}  // namespace

std::optional<Admission> admit_lone_guard(const AdmissionWork& work, const NewExecution& item, Duration patience) {
  Params params;
  params.int8(work.offset_us).text(lock_timeout_text(patience)).digest(item.identity->hash).uuid(item.id);
  item.identity->fingerprint ? params.digest(*item.identity->fingerprint) : params.null(Type::bytea);
  params.int4(work.queues.id(item.queue)).uuid(item.born_running->session).text(item.task).bytea(item.input);
  params.text(item.identity->key);
  item.attempt_timeout ? params.int8(item.attempt_timeout->count()) : params.null(Type::int8);
  params.int8(item.born_running->claim_number);
  const Call call{&admit_statement, std::move(params)};
  const Result result = work.connection.call_awake(call, "postgres.admit.before_commit");
  if (result.rows() == 0) { return std::nullopt; }
  Admission admission{.id = item.id, .created_at = RowReader(result, 0).time()};
  admission.status = Status::running;
  admission.fence = 1;
  return admission;
}

bool is_plain_guard_end(const Finish& finish) {
  return finish.kind == FinishKind::completed && finish.keep && finish.keep->holds_identity && !finish.turn;
}

Call end_guard_call(const Finish& finish, std::int64_t offset_us) {
  Params params;
  params.int8(offset_us).uuid(finish.id).int8(finish.fence).int8(finish.ran_for.count());
  params.int8(keep_us(*finish.keep)).int8(end_of_time.time_since_epoch().count()).bytea(finish.result);
  return {&end_statement(!finish.keep->period), std::move(params)};
}

}  // namespace hapax::store::postgres
