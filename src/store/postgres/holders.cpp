#include "store/postgres/holders.hpp"

namespace hapax::store::postgres {

namespace {

using namespace model;

// A holder in live is not looked for in history: l.id IS NULL stops the probe of the partitions.
constexpr Statement ask_statement{"hapax_ask_holders", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT i.identity, i.execution, i.fingerprint,
       coalesce(h.status, CASE l.state WHEN 1 THEN 1 ELSE 0 END)::smallint, coalesce(l.run, h.run),
       coalesce(l.created_at, h.created_at), h.finished_at, h.result,
       1 / CASE WHEN (l.id IS NULL AND h.status IS DISTINCT FROM 2) OR (l.id IS NOT NULL AND u.terminates)
                  OR (h.status = 2 AND u.reuses) THEN 0 ELSE 1 END
FROM unnest($2::bytea[], $3::uuid[], $4::boolean[], $5::boolean[]) u(identity, asking, terminates, reuses)
JOIN {s}.identities i ON i.identity = u.identity AND i.execution <> u.asking
LEFT JOIN {s}.live l ON l.id = i.execution
LEFT JOIN LATERAL (
  SELECT status, run, created_at, finished_at, result FROM {s}.history x
  WHERE l.id IS NULL AND x.id = i.execution AND x.expires_at > (SELECT now FROM t) LIMIT 1) h ON true)"};

constexpr Statement lock_identities{"hapax_lock_identities", R"(
SELECT identity, execution, fingerprint FROM {s}.identities WHERE identity = ANY ($1::bytea[])
ORDER BY identity FOR UPDATE)"};

constexpr Statement lock_live{"hapax_lock_live_holders", R"(
SELECT id, CASE state WHEN 1 THEN 1 ELSE 0 END::smallint, run, created_at
FROM {s}.live WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE)"};

constexpr Statement finished_holders{"hapax_finished_holders", R"(
WITH t AS MATERIALIZED (SELECT {now} + $2::bigint AS now)
SELECT id, status, run, created_at, finished_at, result FROM {s}.history
WHERE id = ANY ($1::uuid[]) AND expires_at > (SELECT now FROM t))"};

Holder read_holder(RowReader& reader, const Uuid& id) {
  Holder holder;
  holder.id = id;
  holder.status = static_cast<Status>(reader.int2());
  holder.run = reader.int4();
  holder.created_at = reader.time();
  return holder;
}

}  // namespace

Call ask_holders(const std::vector<HolderQuestion>& questions, std::int64_t offset_us) {
  const std::size_t n = questions.size();
  Array identities(Type::bytea, n), asking(Type::uuid, n), terminates(Type::boolean, n), reuses(Type::boolean, n);
  for (const HolderQuestion& question : questions) {
    identities.digest(question.identity);
    asking.uuid(question.asking);
    terminates.boolean(question.terminates);
    reuses.boolean(question.reuses);
  }
  Params params;
  params.int8(offset_us);
  for (Array* array : {&identities, &asking, &terminates, &reuses}) { params.array(std::move(*array)); }
  return {&ask_statement, std::move(params)};
}

HeldIdentities read_holders(const Result& result) {
  HeldIdentities held;
  for (int row = 0; row < result.rows(); ++row) {
    RowReader reader(result, row);
    const base::Digest identity = reader.digest();
    const Uuid execution = reader.uuid();
    const std::optional<base::Digest> fingerprint = reader.optional_digest();
    Holder holder = read_holder(reader, execution);
    holder.finished_at = reader.optional_time();
    holder.result = reader.optional_bytes();
    holder.fingerprint = fingerprint;
    held.insert_or_assign(identity, Held{.execution = execution, .holder = std::move(holder)});
  }
  return held;
}

HeldIdentities lock_holders(Connection& connection, const std::vector<base::Digest>& identities,
                            std::int64_t offset_us) {
  HeldIdentities held;
  Array hashes(Type::bytea, identities.size());
  for (const base::Digest& identity : identities) { hashes.digest(identity); }
  const Result rows = connection.query(lock_identities, Params().array(std::move(hashes)));
  std::map<Uuid, std::pair<base::Digest, std::optional<base::Digest>>> by_execution;
  std::vector<Uuid> executions;
  for (int row = 0; row < rows.rows(); ++row) {
    RowReader reader(rows, row);
    const base::Digest identity = reader.digest();
    const Uuid execution = reader.uuid();
    by_execution[execution] = {identity, reader.optional_digest()};
    executions.push_back(execution);
    held[identity].execution = execution;
  }
  if (executions.empty()) { return held; }
  const auto take = [&](Holder holder) {
    const auto& [identity, fingerprint] = by_execution.at(holder.id);
    holder.fingerprint = fingerprint;
    held[identity].holder = std::move(holder);
  };
  const Result live = connection.query(lock_live, Params().array(uuid_array(executions)));
  for (int row = 0; row < live.rows(); ++row) {
    RowReader reader(live, row);
    const Uuid id = reader.uuid();
    take(read_holder(reader, id));
  }
  const Result finished = connection.query(finished_holders, Params().array(uuid_array(executions)).int8(offset_us));
  for (int row = 0; row < finished.rows(); ++row) {
    RowReader reader(finished, row);
    const Uuid id = reader.uuid();
    Holder holder = read_holder(reader, id);
    holder.finished_at = reader.optional_time();
    holder.result = reader.optional_bytes();
    take(std::move(holder));
  }
  return held;
}

}  // namespace hapax::store::postgres
