#include "store/postgres/admit_identity.hpp"

#include <map>

namespace hapax::store::postgres {

namespace {

using namespace model;

constexpr Statement take_over_statement{"hapax_take_over", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
item AS MATERIALIZED (
  SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bytea[], $8::bytea[])
                  u(id, session, claim_number, takeover_after, input, identity, fingerprint)),
lost AS (
  INSERT INTO {s}.attempts (execution, fence, number, outcome, worker, started_at, ended_at)
  SELECT l.id, l.fence, l.attempt, 2, coalesce(s.worker, ''), l.claimed_at, t.now
  FROM t, item JOIN {s}.live l ON l.id = ANY (ARRAY[item.id]) LEFT JOIN {s}.sessions s ON s.id = l.session
  ON CONFLICT (execution, fence) DO NOTHING),
held AS (
  UPDATE {s}.identities i SET fingerprint = item.fingerprint FROM item WHERE i.identity = item.identity)
UPDATE {s}.live l
SET fence = l.fence + 1, attempt = l.attempt + 1, lost = l.lost + 1, session = item.session,
    claim_number = item.claim_number, claimed_at = t.now, left_by = NULL, progress = NULL, progress_message = NULL,
    attempt_timeout = item.takeover_after, input = item.input
FROM t, item WHERE l.id = ANY (ARRAY[item.id]) RETURNING l.id, l.fence)"};

}  // namespace

void take_over(Connection& connection, const std::vector<Takeover>& guards, std::int64_t offset_us) {
  Array ids(Type::uuid), sessions(Type::uuid), claims(Type::int8), takeovers(Type::int8), inputs(Type::bytea);
  Array identities(Type::bytea), fingerprints(Type::bytea);
  std::map<Uuid, Admission*> admissions;
  for (const Takeover& guard : guards) {
    const NewExecution& item = *guard.by;
    admissions.emplace(guard.id, guard.admission);
    ids.uuid(guard.id);
    sessions.uuid(item.born_running->session);
    claims.int8(item.born_running->claim_number);
    takeovers.optional_int8(item.attempt_timeout ? std::optional(item.attempt_timeout->count()) : std::nullopt);
    inputs.bytes(item.input);
    identities.digest(item.identity->hash);
    item.identity->fingerprint ? fingerprints.digest(*item.identity->fingerprint) : fingerprints.null();
  }
  Params params;
  params.int8(offset_us).arrays({&ids, &sessions, &claims, &takeovers, &inputs, &identities, &fingerprints});
  const Result taken = connection.query(take_over_statement, params);
  for (RowReader reader : taken) {
    const Uuid id = reader.uuid();
    admissions.at(id)->fence = reader.int8();
  }
}

}  // namespace hapax::store::postgres
