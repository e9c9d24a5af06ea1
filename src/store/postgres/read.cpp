#include "model/labels.hpp"
#include "store/postgres/execution_row.hpp"
#include "store/postgres/identities.hpp"
#include "store/postgres/postgres_store.hpp"

namespace hapax::store::postgres {

namespace {

// Searches live first: LIMIT ends the search there, before any partition is read.
constexpr const char* get_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT * FROM (
  SELECT {live} FROM {s}.live l LEFT JOIN {s}.sessions x ON x.id = l.session WHERE l.id = $2::uuid
  UNION ALL
  SELECT {history} FROM {s}.history h WHERE h.id = $2::uuid AND h.expires_at > (SELECT now FROM t)) e LIMIT 1)";

constexpr Statement outcomes_statement{"hapax_outcomes", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
going AS MATERIALIZED (
  SELECT id, CASE state WHEN 1 THEN 1 ELSE 0 END::smallint AS status, coalesce(deadline <= (SELECT now FROM t), false) AS overdue
  FROM {s}.live WHERE id = ANY ($2::uuid[]))
SELECT id, status, NULL::bytea, NULL::text, NULL::uuid, overdue FROM going
UNION ALL
SELECT h.id, h.status, h.result, h.error, h.continued_as, false FROM {s}.history h
WHERE h.id = ANY (ARRAY(SELECT u FROM unnest($2::uuid[]) u WHERE u NOT IN (SELECT id FROM going)))
  AND h.expires_at > (SELECT now FROM t))"};

// Finds a record that is past its retention and not deleted yet, or a tombstone.
constexpr Statement expired_statement{"hapax_has_expired", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT EXISTS (SELECT FROM {s}.history h JOIN {s}.queues q ON q.id = h.queue_id
               WHERE h.id = $3::uuid AND q.ns = $2::text AND h.expires_at <= (SELECT now FROM t))
    OR EXISTS (SELECT FROM {s}.identities i JOIN {s}.queues q ON q.id = i.queue_id
               WHERE i.execution = $3::uuid AND q.ns = $2::text AND i.hold_until IS NOT NULL
                 AND i.hold_until > (SELECT now FROM t)))"};

constexpr Statement attempts_statement{"hapax_attempts", R"(
SELECT number, worker, started_at, ended_at, outcome, error FROM {s}.attempts
WHERE execution = $1::uuid ORDER BY fence)"};

const Statement& get_statement() {
  static const Statement& statement = made_statement("hapax_get", with_execution_columns(get_text));
  return statement;
}

const char* attempt_outcome(int outcome) {
  switch (outcome) {
    case 0: return "failed";
    case 1: return "snoozed";
    default: return "lost";
  }
}

std::optional<Execution> read_one(Connection& connection, QueueIds& queues, const Uuid& id, std::int64_t offset_us) {
  const Result result = connection.query(get_statement(), Params().int8(offset_us).uuid(id));
  if (result.rows() == 0) { return std::nullopt; }
  ExecutionRow row = read_execution(result, 0);
  row.execution.queue = queues.name(connection, row.queue_id);
  return std::move(row.execution);
}

}  // namespace

// 1 round trip.
std::optional<Execution> PostgresStore::get(const Uuid& id) {
  return read([&](Connection& connection) { return read_one(connection, queue_ids_, id, offset_us()); });
}

// 1 round trip.
std::vector<std::optional<Outcome>> PostgresStore::outcomes(std::span<const Uuid> ids) {
  std::vector<std::optional<Outcome>> outcomes(ids.size());
  if (ids.empty()) { return outcomes; }
  return read([&](Connection& connection) {
    const Result result = connection.query(outcomes_statement, Params().int8(offset_us()).array(uuid_array(ids)));
    std::unordered_map<Uuid, Outcome> found;
    for (RowReader reader : result) {
      Outcome outcome;
      outcome.id = reader.uuid();
      outcome.status = static_cast<Status>(reader.int2());
      outcome.result = reader.optional_bytes();
      if (const auto error = reader.optional_bytes()) { outcome.error = decode_error(*error); }
      outcome.continued_as = reader.optional_uuid();
      outcome.overdue = reader.boolean();
      found.emplace(outcome.id, std::move(outcome));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto at = found.find(ids[i]);
      outcomes[i] = at == found.end() ? std::nullopt : std::optional(at->second);
    }
    return outcomes;
  });
}

// 1 round trip.
bool PostgresStore::has_expired(std::string_view namespace_name, const Uuid& id) {
  return run([&](Connection& connection) {
    Params params;
    params.int8(offset_us()).text(namespace_name).uuid(id);
    return RowReader(connection.query(expired_statement, params), 0).boolean();
  });
}

// 1 round trip.
std::optional<Holding> PostgresStore::holding(const base::Digest& identity) {
  return read([&](Connection& connection) { return find_holding(connection, identity, offset_us()); });
}

// 2 round trips.
std::vector<Attempt> PostgresStore::attempts(const Uuid& id) {
  return read([&](Connection& connection) {
    std::vector<Attempt> attempts;
    const std::optional<Execution> execution = read_one(connection, queue_ids_, id, offset_us());
    if (!execution) { return attempts; }
    const Result result = connection.query(attempts_statement, Params().uuid(id));
    for (RowReader reader : result) {
      Attempt attempt;
      attempt.number = reader.int4();
      attempt.worker = reader.bytes();
      attempt.started_at = reader.optional_time();
      attempt.ended_at = reader.optional_time();
      attempt.outcome = attempt_outcome(reader.int2());
      if (const auto error = reader.optional_bytes()) { attempt.error = decode_error(*error); }
      attempts.push_back(std::move(attempt));
    }
    if (execution->session) {
      attempts.push_back({.number = execution->attempt,
                          .worker = execution->worker,
                          .started_at = execution->started_at,
                          .ended_at = execution->finished_at,
                          .outcome = std::string(to_string(execution->status)),
                          .error = execution->error});
    }
    return attempts;
  });
}

}  // namespace hapax::store::postgres
