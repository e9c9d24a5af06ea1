#include "store/postgres/admit_identity.hpp"

#include "model/claim_limits.hpp"
#include "model/labels.hpp"
#include "model/retry.hpp"

namespace hapax::store::postgres {

namespace {

using namespace model;

// A parked holder becomes ready or delayed again, and a claim checks its key anew.
constexpr Statement replace_statement{"hapax_replace", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
item AS MATERIALIZED (
  SELECT u.*, coalesce(u.at, t.now + u.delay) AS due, t.now + u.deadline_in AS deadline, t.now
  FROM t, unnest($2::uuid[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bytea[], $8::bigint[],
                 $9::smallint[], $10::int[], $11::int[], $12::bigint[], $13::text[], $14::text[], $15::int[])
         u(id, input, delay, at, identity, fingerprint, deadline_in, priority, max_attempts, max_lost, attempt_timeout,
           retry, labels, weight)),
held AS (
  UPDATE {s}.identities i SET fingerprint = item.fingerprint FROM item WHERE i.identity = item.identity)
UPDATE {s}.live l SET input = item.input, run_at = item.due, deadline = item.deadline, priority = item.priority,
                      max_attempts = item.max_attempts, max_lost = item.max_lost,
                      attempt_timeout = item.attempt_timeout, retry = item.retry, labels = item.labels,
                      weight = item.weight, state = CASE WHEN item.due > item.now THEN 2 ELSE 0 END
FROM item WHERE l.id = ANY (ARRAY[item.id]) RETURNING l.queue_id, l.limit_key)"};

}  // namespace

void replace(const AdmissionWork& work, const std::vector<Replacing>& replacing) {
  Array ids(Type::uuid), inputs(Type::bytea), delays(Type::int8), at(Type::int8), identities(Type::bytea);
  Array fingerprints(Type::bytea), deadlines(Type::int8), priorities(Type::int2), max_attempts(Type::int4);
  Array max_lost(Type::int4), timeouts(Type::int8), retries(Type::text), labels(Type::text), weights(Type::int4);
  for (const Replacing& one : replacing) {
    ids.uuid(one.id);
    inputs.bytes(one.by->input);
    delays.int8(one.by->delay.count());
    at.optional_int8(one.by->run_at ? std::optional(one.by->run_at->time_since_epoch().count()) : std::nullopt);
    identities.digest(one.by->identity->hash);
    one.by->identity->fingerprint ? fingerprints.digest(*one.by->identity->fingerprint) : fingerprints.null();
    deadlines.optional_int8(one.by->deadline ? std::optional(one.by->deadline->count()) : std::nullopt);
    priorities.int2(static_cast<std::int16_t>(one.by->priority));
    max_attempts.int4(one.by->max_attempts);
    max_lost.int4(one.by->max_lost);
    timeouts.optional_int8(one.by->attempt_timeout ? std::optional(one.by->attempt_timeout->count()) : std::nullopt);
    retries.optional_bytes(one.by->retry ? std::optional(encode_retry(*one.by->retry)) : std::nullopt);
    labels.optional_bytes(encode_labels(one.by->labels));
    one.by->weight == 1 ? weights.null() : weights.int4(one.by->weight);
  }
  Params params;
  params.int8(work.offset_us);
  for (Array* array : {&ids, &inputs, &delays, &at, &identities, &fingerprints, &deadlines, &priorities, &max_attempts,
                       &max_lost, &timeouts, &retries, &labels, &weights}) {
    params.array(std::move(*array));
  }
  const Result replaced = work.connection.query(replace_statement, params);
  for (int row = 0; row < replaced.rows(); ++row) {
    RowReader reader(replaced, row);
    const std::int32_t queue = reader.int4();
    const std::optional<std::string> key = reader.optional_bytes();
    // The holder may have been the one execution of its key that was not parked.
    if (key && !decode_limit_key(*key).ordered) { work.freed.add(queue, *key); }
  }
}

}  // namespace hapax::store::postgres
