#include "store/postgres/finish.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/labels.hpp"
#include "model/retention.hpp"
#include "store/postgres/execution_row.hpp"
#include "store/postgres/inbox.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace hapax::store::postgres {

namespace {

using namespace model;

// One statement deletes a row, found by id and fence, and writes it to history, so at any commit an execution is in
// exactly one of the two tables. A row with a cancel_error ends instead of becoming pending again: its cancellation was
// requested, or a newer request overtook it. Its error is cancel_error, with the worker's detail in place of the empty
// detail at its end (a quote inside JSON text has a backslash before it). A workflow, or a row without cancel_error,
// keeps the worker's error. The joins are left joins, as an attached transaction may have a snapshot older than its
// queue. Retention is model::kept: 7 days (workflows 30) unless the queue says otherwise, and 10 minutes for a stub
// where the retention is 0.
constexpr std::string_view end_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
gone AS (
  DELETE FROM {s}.live l
  USING unnest($2::uuid[], $3::bigint[], $4::smallint[], $5::smallint[], $6::bytea[], $7::text[], $8::bigint[]{next array}{keep arrays})
        u(id, fence, status, left_by, result, error, ran_for{next}{keep})
  WHERE l.id = ANY (ARRAY[u.id]) AND (u.fence < 0 OR (l.fence = u.fence AND l.state + 0 = 1))
    AND (u.status IS NOT NULL OR (l.cancel_error IS NOT NULL AND l.kind <> 1)){no waiters}
  RETURNING l.*, coalesce(u.status, 4::smallint) AS status, u.left_by AS ended_by, u.result, u.ran_for{u.next}{u.keep},
            CASE WHEN coalesce(u.status, 4) <> 4 OR (u.error IS NOT NULL AND
                      (l.kind = 1 OR coalesce(l.cancel_error, $9::text) = $9::text)) THEN u.error
                 WHEN u.error IS NULL THEN coalesce(l.cancel_error, $9::text)
                 ELSE left(l.cancel_error, -13) || substr(u.error, strpos(u.error, ',"detail":"')) END AS error)
{entries}{told}INSERT INTO {s}.history (
  {moved}, expires_at, finished_at, status, dead, left_by, input, result, error, worker, started_at, stub{next})
SELECT {g.moved}, {expires}, t.now, g.status, g.status = 3 AND g.kind <> 2, coalesce(g.ended_by, g.left_by),
       CASE WHEN k.stub THEN 'null'::bytea ELSE g.input END, g.result, g.error, s.worker,
       CASE WHEN g.session IS NOT NULL THEN coalesce(t.now - g.ran_for, g.claimed_at) END,
       CASE WHEN k.stub THEN true END{g.next}
FROM gone g CROSS JOIN t
LEFT JOIN {s}.queues q ON q.id = g.queue_id
LEFT JOIN {s}.sessions s ON s.id = g.session
CROSS JOIN LATERAL (
  SELECT coalesce(q.retention_us, CASE g.kind WHEN 1 THEN 2592000000000 ELSE 604800000000 END) AS retention,
         {stub} AS stub) k
RETURNING id, queue_id, limit_key{woken})";

constexpr std::string_view queue_expiry =
    "t.now + CASE WHEN g.status = 2 THEN coalesce(nullif(k.retention, 0), 600000000) ELSE "
    "coalesce(nullif(coalesce(q.failed_retention_us, nullif(k.retention, 0), 604800000000), 0), 600000000) END";
constexpr std::string_view queue_stub = "g.status = 2 AND q.retention_us = 0";

// end_text for executions that complete, without waiters and limit key: other rows are not found. The answer is NULL
// when all have ended, else the ids of the ended ones.
constexpr std::string_view complete_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
gone AS (
  DELETE FROM {s}.live l
  USING unnest($2::uuid[], $3::bigint[], $4::bytea[], $5::bigint[]) u(id, fence, result, ran_for)
  WHERE l.id = ANY (ARRAY[u.id]) AND l.fence = u.fence AND l.state + 0 = 1 AND l.waiters IS NULL AND l.limit_key IS NULL
  RETURNING l.*, u.result, u.ran_for),
{entries}made AS (
  INSERT INTO {s}.history (
    {moved}, expires_at, finished_at, status, dead, left_by, input, result, worker, started_at, stub)
  SELECT {g.moved},
         t.now + coalesce(nullif(coalesce(q.retention_us, CASE g.kind WHEN 1 THEN 2592000000000 ELSE 604800000000 END), 0),
                          600000000),
         t.now, 2, false, 0, CASE WHEN q.retention_us = 0 THEN 'null'::bytea ELSE g.input END, g.result, s.worker,
         t.now - g.ran_for, CASE WHEN q.retention_us = 0 THEN true END
  FROM gone g CROSS JOIN t
  LEFT JOIN {s}.queues q ON q.id = g.queue_id
  LEFT JOIN {s}.sessions s ON s.id = g.session)
SELECT CASE WHEN (SELECT count(*) FROM gone) < cardinality($2::uuid[]) THEN ARRAY(SELECT id FROM gone) END)";
static_assert(static_cast<int>(Status::completed) == 2 && static_cast<int>(FinishKind::completed) == 0);

constexpr std::string_view told_text = R"(, told AS MATERIALIZED (
  SELECT w.waiter AS execution, count(*) AS many, array_agg(1::smallint) AS kinds, array_agg(NULL::text) AS names,
         array_agg(w.position) AS positions, array_agg(g.id) AS children, array_agg(g.status) AS statuses,
         array_agg(g.result) AS data, array_agg(g.error) AS errors, array_agg(NULL::text) AS keys
  FROM gone g CROSS JOIN LATERAL unnest(g.waiters, g.waiter_positions) w(waiter, position)
  WHERE g.waiters IS NOT NULL AND g.continued_as IS NULL GROUP BY w.waiter),)";

// RETURNING shows only new values, so `was` has the row as it ran. Its fence is the same, so its session is the one
// that ran it. With `+ 0` the planner finds rows by id instead of scanning all running rows.
constexpr std::string_view wait_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
back AS (
  UPDATE {s}.live l
  SET state = CASE WHEN CASE WHEN u.why IN (4, 5) THEN t.now + u.delay ELSE l.run_at END > t.now THEN 2 ELSE 0 END,
      run_at = CASE WHEN u.why IN (4, 5) THEN t.now + u.delay ELSE l.run_at END,
      attempt = l.attempt - CASE WHEN u.why IN (5, 6, -1) THEN 1 ELSE 0 END,
      lost = l.lost + CASE WHEN u.why = -2 THEN 1 ELSE 0 END,
      left_by = CASE WHEN u.why > 0 THEN u.why END,
      stuck = CASE WHEN u.why > 0 THEN NULL ELSE l.stuck END,
      session = NULL, claim_number = NULL, claimed_at = NULL,
      progress = CASE WHEN l.kind = 1 THEN l.progress END,
      progress_message = CASE WHEN l.kind = 1 THEN l.progress_message END
  FROM t, unnest($2::uuid[], $3::bigint[], $4::smallint[], $5::text[], $6::bigint[], $7::bigint[])
            u(id, fence, why, error, delay, ran_for)
       JOIN {s}.live was ON was.id = ANY (ARRAY[u.id]) AND was.fence = u.fence
       LEFT JOIN {s}.sessions s ON s.id = was.session
  WHERE l.id = ANY (ARRAY[u.id]) AND l.fence = u.fence AND l.state + 0 = 1 AND (l.cancel_error IS NULL OR u.why = -2 OR l.kind = 1)
  RETURNING l.id, l.fence, l.lost, l.max_lost, l.cancel_error IS NOT NULL AND l.kind <> 1 AS cancelled, l.queue_id, l.limit_key,
            was.attempt AS number, was.claimed_at AS claimed_at, coalesce(s.worker, '') AS worker, u.why, u.error,
            u.ran_for, t.now),
{entries}noted AS (
  INSERT INTO {s}.attempts (execution, fence, number, outcome, worker, started_at, ended_at, error)
  SELECT id, fence, number, CASE why WHEN 4 THEN 0 WHEN 5 THEN 1 ELSE 2 END, worker,
         CASE WHEN why = -2 THEN claimed_at ELSE now - ran_for END, now, error
  FROM back WHERE why IN (4, 5, -2)
  ON CONFLICT (execution, fence) DO UPDATE SET number = excluded.number, outcome = excluded.outcome,
    worker = excluded.worker, started_at = excluded.started_at, ended_at = excluded.ended_at, error = excluded.error)
SELECT id, lost, max_lost, cancelled, queue_id, limit_key FROM back)";

// least() of the wake times is the first one, or never_due ($8) if there is none.
constexpr std::string_view pause_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
back AS (
  UPDATE {s}.live l
  SET state = CASE WHEN coalesce(l.inbox, 0) > u.seen OR least(u.wake_at, t.now + u.wake_in, $8::bigint) <= t.now
                   THEN 0 ELSE 2 END,
      run_at = CASE WHEN coalesce(l.inbox, 0) > u.seen THEN t.now
                    ELSE least(u.wake_at, t.now + u.wake_in, $8::bigint) END,
      attempt = l.attempt - 1, lost = 0, left_by = 7, stuck = u.stuck,
      session = NULL, claim_number = NULL, claimed_at = NULL
  FROM t, unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
            u(id, fence, seen, wake_in, wake_at, stuck)
  WHERE l.id = ANY (ARRAY[u.id]) AND l.fence = u.fence AND l.state + 0 = 1
  RETURNING l.id, l.lost, l.max_lost, l.state, l.queue_id, l.limit_key){entries}
SELECT id, lost, max_lost, state = 0, queue_id, limit_key FROM back)";

std::string with_entries(std::string_view text, const std::string& entries) {
  return fill(text,
              {{"{entries}", entries}, {"{moved}", names(&Column::moves)}, {"{g.moved}", names(&Column::moves, "g.")}});
}

// `tells`: with the CTEs that send events to waiters, which make every ending a fifth dearer even without waiters. The
// statement without them does not find executions with waiters. `keeps`: some records have a retention of their own.
std::string end_sql(bool tells, bool appends, bool keeps) {
  const int next = tells ? 12 : 10;
  const std::string entries = appends ? ", kept AS (" + append_sql(keeps ? next + 2 : next, "gone") + ")\n" : "";
  const std::string keep_us = "$" + std::to_string(next), frees = "$" + std::to_string(next + 1);
  const std::string for_ever = std::to_string(end_of_time.time_since_epoch().count());
  const std::string text =
      fill(end_text,
           {{"{moved}", names(&Column::moves)},
            {"{g.moved}", names(&Column::moves, "g.")},
            {"{keep arrays}", keeps ? ", " + keep_us + "::bigint[], " + frees + "::boolean[]" : ""},
            {"{keep}", keeps ? ", keep_us, frees" : ""},
            {"{u.keep}", keeps ? ", u.keep_us, u.frees" : ""},
            {"{expires}", keeps ? "CASE WHEN g.keep_us IS NOT NULL THEN least(t.now + g.keep_us, " + for_ever +
                                      ") ELSE " + std::string(queue_expiry) + " END"
                                : std::string(queue_expiry)},
            {"{stub}", keeps ? "CASE WHEN g.keep_us IS NOT NULL THEN g.frees ELSE " + std::string(queue_stub) + " END"
                             : std::string(queue_stub)}});
  if (!tells) {
    return fill(text, {{"{next array}", ""},
                       {"{next}", ""},
                       {"{no waiters}", " AND l.waiters IS NULL"},
                       {"{u.next}", ""},
                       {"{entries}", entries},
                       {"{told}", ""},
                       {"{g.next}", ""},
                       {"{woken}", ""}});
  }
  return fill(text, {{"{next array}", ", $10::uuid[]"},
                     {"{next}", ", continued_as"},
                     {"{no waiters}", ""},
                     {"{u.next}", ", u.continued_as"},
                     {"{entries}", entries},
                     {"{told}", std::string(told_text) + events_sql("$11::uuid[]") + "\n"},
                     {"{g.next}", ", g.continued_as"},
                     {"{woken}", ", ARRAY(SELECT DISTINCT queue_id FROM woken WHERE due)"}});
}

const Statement& end_statement(bool tells, bool appends, bool keeps) {
  static const std::array<const Statement*, 8> statements{
      &made_statement("hapax_end", end_sql(false, false, false)),
      &made_statement("hapax_end_turn", end_sql(false, true, false)),
      &made_statement("hapax_end_telling", end_sql(true, false, false)),
      &made_statement("hapax_end_turn_telling", end_sql(true, true, false)),
      &made_statement("hapax_end_kept", end_sql(false, false, true)),
      &made_statement("hapax_end_turn_kept", end_sql(false, true, true)),
      &made_statement("hapax_end_kept_tell", end_sql(true, false, true)),
      &made_statement("hapax_end_turn_kept_tell", end_sql(true, true, true))};
  return *statements[(keeps ? 4U : 0U) + (tells ? 2U : 0U) + (appends ? 1U : 0U)];
}

const Statement& complete_statement(bool appends) {
  static const Statement& plain = made_statement("hapax_complete_all", with_entries(complete_text, ""));
  static const Statement& appending = made_statement(
      "hapax_complete_all_turns",
      with_entries(complete_text,
                   "kept AS (" + append_six_sql(6, "(e.execution IN (SELECT id FROM gone)) IS TRUE") + "),\n"));
  return appends ? appending : plain;
}

const Statement& wait_statement(bool with) {
  static const Statement& plain = made_statement("hapax_wait", with_entries(wait_text, ""));
  static const Statement& appending =
      made_statement("hapax_wait_turn", with_entries(wait_text, "kept AS (" + append_sql(8, "back") + "),\n"));
  return with ? appending : plain;
}

const Statement& pause_statement(bool with) {
  static const Statement& plain = made_statement("hapax_pause", with_entries(pause_text, ""));
  static const Statement& appending =
      made_statement("hapax_pause_turn", with_entries(pause_text, ",\nkept AS (" + append_sql(9, "back") + ")"));
  return with ? appending : plain;
}

Call with_params(const Statement& statement, Params params, EntryArrays& entries) {
  if (!entries.empty()) { entries.append_to(params); }
  return {&statement, std::move(params)};
}

}  // namespace

std::int64_t keep_us(const Keep& keep) {
  constexpr Duration for_ever = std::chrono::hours(24 * 366 * 10'000);
  return std::min(keep.period.value_or(for_ever), for_ever).count();
}

std::string cancelled_error(std::string_view reason) {
  return encode_error({.type = "Cancelled", .message = std::string(reason), .detail = ""});
}

Call end_call(const std::vector<Ending>& endings, std::int64_t offset_us, EndingBatch batch) {
  static const std::string& no_reason = keep_text(cancelled_error(""));
  const std::size_t n = endings.size();
  Array ids(Type::uuid, n), fences(Type::int8, n), statuses(Type::int2, n), left_by(Type::int2, n);
  Array results(Type::bytea, n), errors(Type::text, n), ran_for(Type::int8, n), next(Type::uuid, n);
  Array keep(Type::int8, n), frees(Type::boolean, n);
  const bool keeps = std::ranges::any_of(endings, [](const Ending& ending) { return ending.keep.has_value(); });
  for (const Ending& ending : endings) {
    ids.uuid(ending.id);
    fences.int8(ending.fence);
    ending.status ? statuses.int2(static_cast<int>(*ending.status)) : statuses.null();
    ending.left_by ? left_by.int2(static_cast<int>(*ending.left_by)) : left_by.null();
    results.optional_bytes(ending.result);
    errors.optional_bytes(ending.error);
    ending.ran_for ? ran_for.int8(ending.ran_for->count()) : ran_for.null();
    next.optional_uuid(ending.continued_as);
    if (!keeps) { continue; }
    keep.optional_int8(ending.keep ? std::optional(keep_us(*ending.keep)) : std::nullopt);
    frees.boolean(ending.keep && !ending.keep->holds_identity);
  }
  Params params;
  params.int8(offset_us).arrays({&ids, &fences, &statuses, &left_by, &results, &errors, &ran_for});
  params.text(no_reason);
  if (batch.tells) { params.array(std::move(next)).array(uuid_array(batch.later)); }
  if (keeps) { params.array(std::move(keep)).array(std::move(frees)); }
  return with_params(end_statement(batch.tells, !batch.entries.empty(), keeps), std::move(params), batch.entries);
}

Call complete_all_call(const std::vector<Ending>& endings, std::int64_t offset_us, EntryArrays entries) {
  const std::size_t n = endings.size();
  Array ids(Type::uuid, n), fences(Type::int8, n), results(Type::bytea, n), ran_for(Type::int8, n);
  for (const Ending& ending : endings) {
    ids.uuid(ending.id);
    fences.int8(ending.fence);
    results.optional_bytes(ending.result);
    ran_for.int8(ending.ran_for.value_or(Duration{0}).count());
  }
  Params params;
  params.int8(offset_us).arrays({&ids, &fences, &results, &ran_for});
  const bool appends = !entries.empty();
  if (appends) { entries.append_six_to(params); }
  return {&complete_statement(appends), std::move(params)};
}

Call wait_call(const std::vector<Waiting>& waiting, std::int64_t offset_us, EntryArrays entries) {
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
  params.int8(offset_us).arrays({&ids, &fences, &why, &errors, &delays, &ran_for});
  return with_params(wait_statement(!entries.empty()), std::move(params), entries);
}

Call pause_call(const std::vector<Pause>& pauses, std::int64_t offset_us, EntryArrays entries) {
  const std::size_t n = pauses.size();
  Array ids(Type::uuid, n), fences(Type::int8, n), seen(Type::int8, n), wake_in(Type::int8, n), wake_at(Type::int8, n);
  Array stuck(Type::text, n);
  for (const Pause& pause : pauses) {
    const Turn& turn = *pause.turn;
    ids.uuid(pause.id);
    fences.int8(pause.fence);
    seen.int8(turn.seen);
    turn.wake_in ? wake_in.int8(turn.wake_in->count()) : wake_in.null();
    turn.wake_at ? wake_at.int8(turn.wake_at->time_since_epoch().count()) : wake_at.null();
    turn.stuck.empty() ? stuck.null()
                       : stuck.bytes(base::keep_head(base::escape_invalid(turn.stuck), limits::error_message_bytes));
  }
  Params params;
  params.int8(offset_us).arrays({&ids, &fences, &seen, &wake_in, &wake_at, &stuck});
  params.int8(Time(never_due).time_since_epoch().count());
  return with_params(pause_statement(!entries.empty()), std::move(params), entries);
}

}  // namespace hapax::store::postgres
