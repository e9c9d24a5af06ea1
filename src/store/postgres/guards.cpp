#include "model/labels.hpp"
#include "model/retention.hpp"
#include "store/postgres/postgres_store.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

// Answers almost all look-ups: no row when nothing holds the identity, and the record of a guard that has ended. A row
// without a record means a live guard, a stub or another special case, for which guard_statement is run. An execution
// is either live or in history.
constexpr std::string_view ended_text = R"(
SELECT {now} + $1::bigint, i.execution, i.fingerprint, h.id IS NULL, h.task, h.identity_key, h.status, h.result, h.error,
       coalesce(h.started_at, h.created_at), h.finished_at, h.expires_at, h.fence, h.attempt_timeout,
       coalesce(h.worker, ''), h.kind, NULL::bigint, NULL::bigint
FROM {s}.identities i LEFT JOIN {s}.history h ON h.id = i.execution AND h.stub IS NULL)";
constexpr std::string_view ended_condition = R"(
WHERE i.identity = $2::bytea AND i.hold_until IS NULL)";

const Statement& ended_statement() {
  static const std::string& text = keep_text(std::string(ended_text) + std::string(ended_condition));
  static const Statement statement{"hapax_guard_ended", text.c_str()};
  return statement;
}

// The same for records that are kept for ever, which are in no day partition: that halves the cost. With `+ 0` the
// record is found by its id instead of among all records that never expire.
const Statement& lasting_statement() {
  static const std::string& text = keep_text([] {
    static constexpr std::string_view whole = "{s}.history h";
    std::string made(ended_text);
    made.replace(made.find(whole), whole.size(), "{s}.history_default h");
    return made + " AND h.expires_at + 0 = " + std::to_string(model::end_of_time.time_since_epoch().count()) +
           std::string(ended_condition);
  }());
  static const Statement statement{"hapax_guard_lasting", text.c_str()};
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

// 1 round trip for a guard that has ended or was never begun. 2 for one in progress, and for one that expires when the
// records before it were kept for ever.
std::optional<Guard> PostgresStore::guard(const base::Digest& identity) {
  std::optional<Guard> guard = read([&](Connection& connection) -> std::optional<Guard> {
    const Params params = Params().int8(offset_us()).digest(identity);
    const bool lasting = lasting_guards_.load(std::memory_order_relaxed) >= lasting_enough;
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
