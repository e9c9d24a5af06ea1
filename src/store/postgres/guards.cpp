// Guarded calls. A single guard begins with one statement and ends with one, both without arrays and without columns
// that only other executions need: these would cost the server more than the rows.
#include "base/plain_path.hpp"
#include "model/labels.hpp"
#include "model/retention.hpp"
#include "store/postgres/admit.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/live_row.hpp"
#include "store/postgres/postgres_store.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

// set_config is in the same CTE as the time, which the identity needs, so the lock timeout is set before the identity
// is inserted.
constexpr std::string_view admit_guard_text = R"(
WITH t AS MATERIALIZED (
  SELECT {now} + $1::bigint AS now, set_config('lock_timeout', $2::text, true) AS patience),
held AS (
  INSERT INTO {s}.identities (identity, execution, run, fingerprint, created_at, hold_for)
  SELECT {identity}, {id}, {run}, {fingerprint}, t.now, 0
  FROM t, {s}.queues q, {s}.sessions x
  WHERE q.id = {queue} AND NOT q.draining AND x.id = {session} AND x.expires_at > t.now
  ON CONFLICT (identity) DO NOTHING RETURNING created_at)
INSERT INTO {s}.live ({columns}, kind, state, run_at, created_at, attempt, fence, claimed_at)
SELECT {values}, 2, 1, created_at, created_at, 1, 1, created_at
FROM held RETURNING created_at)";
static_assert(static_cast<int>(Kind::guard) == 2);

struct AdmitGuard {
  InsertParams params;
  Statement statement;
};

// Never destroyed (keep_text).
const AdmitGuard& admit_guard() {
  static const AdmitGuard& made = []() -> const AdmitGuard& {
    InsertParams params(Insert::guards, {&inputs::fingerprint}, 3);
    const std::string& text = keep_text(fill(admit_guard_text, {{"{identity}", params.value("identity")},
                                                                {"{id}", params.value("id")},
                                                                {"{run}", params.value("run")},
                                                                {"{fingerprint}", params.value("fingerprint")},
                                                                {"{queue}", params.value("queue_id")},
                                                                {"{session}", params.value("session")},
                                                                {"{columns}", params.columns()},
                                                                {"{values}", params.values()}}));
    return *new AdmitGuard{std::move(params), {"hapax_admit_guard", text.c_str()}};
  }();
  return made;
}

// Like end_text in finish.cpp, for one guard that completes with its own retention. With `+ 0` the planner finds the
// row by id.
constexpr std::string_view lone_guard_end_text = R"(
WITH gone AS (
  DELETE FROM {s}.live l
  WHERE l.id = $2::uuid AND l.fence = $3::bigint AND l.state + 0 = 1 AND l.waiters IS NULL
  RETURNING l.*, $4::bigint AS ran_for, {now} + $1::bigint AS now)
INSERT INTO {s}.{history} ({moved}, expires_at, finished_at, status, dead, left_by, input, result, worker, started_at)
SELECT {g.moved}, least(g.now + $5::bigint, $6::bigint), g.now, 2, false, 0, g.input, $7::bytea,
       (SELECT s.worker FROM {s}.sessions s WHERE s.id = g.session),
       CASE WHEN g.session IS NOT NULL THEN g.now - g.ran_for END
FROM gone g
RETURNING id, queue_id, limit_key)";
static_assert(static_cast<int>(Status::completed) == 2 && static_cast<int>(FinishKind::completed) == 0);

std::string end_into(std::string_view history) {
  return fill(lone_guard_end_text,
              {{"{history}", history}, {"{moved}", names(&Column::moves)}, {"{g.moved}", names(&Column::moves, "g.")}});
}

// Records that are kept for ever are in the default partition, which is named here because routing an insert to its
// partition costs more than the rest of the insert.
const Statement& end_statement(bool for_ever) {
  static const Statement& to_its_day = made_statement("hapax_end_guard", end_into("history"));
  static const Statement& to_default = made_statement("hapax_end_lasting_guard", end_into("history_default"));
  return for_ever ? to_default : to_its_day;
}

bool tells_lasting_guards_apart() {
  static const bool tells = !base::takes_plain_path("pg-lasting-guards");
  return tells;
}

}  // namespace

std::optional<Admission> admit_lone_guard(const AdmissionWork& work, const NewExecution& item, Duration patience) {
  Params params;
  params.int8(work.offset_us).text(lock_timeout_text(patience));
  admit_guard().params.add_values(params, {.item = &item, .queue_id = work.queues.id(item.queue)});
  const Call call{&admit_guard().statement, std::move(params)};
  const Result result = work.connection.call_and_spin(call, "postgres.admit.before_commit");
  if (result.rows() == 0) { return std::nullopt; }
  Admission admission{.id = item.id, .created_at = RowReader(result, 0).time()};
  admission.status = Status::running;
  admission.fence = 1;
  return admission;
}

bool is_plain_guard_end(const Finish& finish) {
  static const bool ends_lone_guard = !base::takes_plain_path("pg-lone-guard");
  return ends_lone_guard && finish.kind == FinishKind::completed && finish.keep && finish.keep->holds_identity &&
         !finish.turn;
}

Call end_guard_call(const Finish& finish, std::int64_t offset_us) {
  Params params;
  params.int8(offset_us).uuid(finish.id).int8(finish.fence).int8(finish.ran_for.count());
  params.int8(keep_us(*finish.keep)).int8(end_of_time.time_since_epoch().count()).bytea(finish.result);
  return {&end_statement(tells_lasting_guards_apart() && !finish.keep->period), std::move(params)};
}

namespace {

// Answers almost all look-ups: no row when nothing holds the identity, and the record of a guard that has ended. A row
// without a record means a live guard, a stub or another special case, for which guard_statement is run. An execution
// is either live or in history.
constexpr std::string_view ended_text = R"(
SELECT {now} + $1::bigint, i.execution, i.fingerprint, h.id IS NULL, h.task, h.identity_key, h.status, h.result, h.error,
       coalesce(h.started_at, h.created_at), h.finished_at, h.expires_at, h.fence, h.attempt_timeout,
       coalesce(h.worker, ''), h.kind, NULL::bigint, NULL::bigint
FROM {s}.identities i LEFT JOIN {s}.{history} h ON h.id = i.execution AND h.stub IS NULL{condition}
WHERE i.identity = $2::bytea AND i.hold_until IS NULL)";

const Statement& ended_statement() {
  static const Statement& statement =
      made_statement("hapax_guard_ended", fill(ended_text, {{"{history}", "history"}, {"{condition}", ""}}));
  return statement;
}

// ended_text for records that are kept for ever, which are in no day partition, at half the cost. With `+ 0` the record
// is found by its id instead of among all records that never expire.
const Statement& lasting_statement() {
  static const Statement& statement = made_statement(
      "hapax_guard_lasting",
      fill(ended_text, {{"{history}", "history_default"},
                        {"{condition}",
                         " AND h.expires_at + 0 = " + std::to_string(model::end_of_time.time_since_epoch().count())}}));
  return statement;
}

// A live guard is not looked for in history. Returns at most one row.
constexpr Statement guard_statement{"hapax_guard", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT (SELECT now FROM t), i.execution, i.fingerprint, l.id IS NOT NULL, coalesce(l.task, h.task),
       coalesce(l.identity_key, h.identity_key),
       CASE WHEN l.id IS NULL THEN h.status ELSE CASE l.state WHEN 1 THEN 1 ELSE 0 END END::smallint,
       h.result, h.error, coalesce(l.claimed_at, h.started_at, l.created_at, h.created_at), h.finished_at, h.expires_at,
       coalesce(l.fence, h.fence), CASE WHEN l.id IS NULL THEN h.attempt_timeout ELSE l.attempt_timeout END,
       coalesce(x.worker, h.worker, ''), coalesce(l.kind, h.kind), x.expires_at, x.lease_us
FROM {s}.identities i
LEFT JOIN {s}.live l ON l.id = i.execution
LEFT JOIN {s}.sessions x ON x.id = l.session
LEFT JOIN LATERAL (
  SELECT * FROM {s}.history y
  WHERE l.id IS NULL AND y.id = i.execution AND y.stub IS NULL AND y.expires_at > (SELECT now FROM t) LIMIT 1) h ON true
WHERE i.identity = $2::bytea AND i.hold_until IS NULL AND (l.id IS NOT NULL OR h.id IS NOT NULL))"};

// Deletes identities before live rows before history, the order in which all other statements lock them.
constexpr Statement identities_statement{"hapax_forget_identities", R"(
DELETE FROM {s}.identities WHERE identity = ANY (ARRAY(
  SELECT l.identity FROM {s}.live l WHERE l.id = ANY ($1::uuid[]) AND l.kind = 2
  UNION ALL
  SELECT h.identity FROM {s}.history h WHERE h.id = ANY ($1::uuid[]) AND h.kind = 2))
  AND execution = ANY ($1::uuid[]))"};

constexpr Statement forget_statement{"hapax_forget_guards", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
live AS (DELETE FROM {s}.live WHERE id = ANY ($2::uuid[]) AND kind = 2 RETURNING id),
ended AS (DELETE FROM {s}.history WHERE id = ANY ($2::uuid[]) AND kind = 2 RETURNING id, expires_at),
attempts AS (
  DELETE FROM {s}.attempts WHERE execution = ANY (ARRAY(SELECT id FROM live UNION ALL SELECT id FROM ended)))
SELECT (SELECT count(*) FROM live) + (SELECT count(*) FROM ended WHERE expires_at > (SELECT now FROM t)))"};

bool is_live(const Result& result) {
  RowReader reader(result, 0);
  reader.skip(3);
  return reader.boolean();
}

Guard read_guard(RowReader& reader) {
  Guard guard;
  guard.now = reader.time();
  guard.id = reader.uuid();
  guard.fingerprint = reader.optional_digest();
  const bool live = reader.boolean();
  guard.task = reader.bytes();
  guard.key = reader.bytes();
  guard.status = static_cast<Status>(reader.int2());
  guard.result = reader.optional_bytes();
  if (const auto error = reader.optional_bytes()) { guard.error = decode_error(*error); }
  guard.started_at = reader.time();
  guard.finished_at = reader.optional_time();
  guard.expires_at = reader.optional_time();
  guard.fence = reader.int8();
  guard.takeover_after = reader.optional_duration();
  guard.worker = reader.bytes();
  const auto kind = static_cast<Kind>(reader.int2());
  const std::optional<Time> lease_until = reader.optional_time();
  const std::optional<Duration> lease = reader.optional_duration();
  guard.heartbeat = guard.finished_at.value_or(guard.started_at);
  if (live) {
    guard.abandoned = is_abandoned(kind, guard.takeover_after, lease_until, guard.now);
    if (lease_until) { guard.heartbeat = std::max(guard.started_at, *lease_until - *lease); }
  }
  return guard;
}

}  // namespace

// 1 round trip for a guard that has ended or was never begun; 2 for a guard in progress, and for a record that expires
// when the records read before were kept for ever.
std::optional<Guard> PostgresStore::guard(const base::Digest& identity) {
  std::optional<Guard> guard = read([&](Connection& connection) -> std::optional<Guard> {
    const Params params = Params().int8(offset_us()).digest(identity);
    const bool lasting =
        tells_lasting_guards_apart() && lasting_guards_.load(std::memory_order_relaxed) >= lasting_enough;
    const Result ended = connection.query(lasting ? lasting_statement() : ended_statement(), params);
    if (ended.rows() == 0) { return std::nullopt; }
    if (!is_live(ended)) {
      RowReader reader(ended, 0);
      return read_guard(reader);
    }
    const Result result = connection.query(guard_statement, params);
    if (result.rows() == 0) { return std::nullopt; }
    RowReader reader(result, 0);
    return read_guard(reader);
  });
  if (!guard || !guard->expires_at) { return guard; }
  const int lasting = lasting_guards_.load(std::memory_order_relaxed);
  const int now = *guard->expires_at < model::end_of_time ? 0 : std::min(lasting + 1, lasting_enough);
  if (now != lasting) { lasting_guards_.store(now, std::memory_order_relaxed); }
  return *guard->expires_at > guard->now ? std::move(guard) : std::nullopt;
}

// 1 round trip.
int PostgresStore::forget_guards(std::span<const Uuid> ids) {
  std::vector<Uuid> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  return run([&](Connection& connection) {
    const std::vector<Call> calls{{&identities_statement, Params().array(uuid_array(sorted))},
                                  {&forget_statement, Params().int8(offset_us()).array(uuid_array(sorted))}};
    const std::vector<Result> results = connection.pipeline(calls);
    return static_cast<int>(RowReader(results[1], 0).int8());
  });
}

}  // namespace hapax::store::postgres
