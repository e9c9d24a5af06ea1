#include "store/postgres/retrying.hpp"

#include <hapax/error.hpp>

#include "model/effect_key.hpp"
#include "store/postgres/audit.hpp"
#include "store/postgres/holders.hpp"

namespace hapax::store::postgres {

namespace {

using namespace model;

constexpr Statement lock_finished{"hapax_retry_lock", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT status, run, identity, effect_key, retried_as, kind = 2, expires_at FROM {s}.history
WHERE id = $2::uuid AND expires_at > (SELECT now FROM t) FOR UPDATE)"};

constexpr Statement find_any{"hapax_retry_find", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT CASE state WHEN 1 THEN 1 ELSE 0 END::smallint, run FROM {s}.live WHERE id = $2::uuid
UNION ALL
SELECT status, run FROM {s}.history WHERE id = $2::uuid AND expires_at > (SELECT now FROM t))"};

// Fingerprint and window stay with the identity if it is still held.
constexpr Statement retrying_repoint{"hapax_retry_repoint", R"(
UPDATE {s}.identities
SET execution = $2::uuid, run = $3::int, created_at = {now} + $4::bigint,
    fingerprint = CASE WHEN $5::boolean THEN fingerprint END, hold_for = CASE WHEN $5::boolean THEN hold_for END,
    hold_until = NULL, ended_as = NULL, ended_at = NULL
WHERE identity = $1::bytea)"};

constexpr Statement take_identity{"hapax_retry_take", R"(
INSERT INTO {s}.identities (identity, execution, run, created_at)
VALUES ($1::bytea, $2::uuid, $3::int, {now} + $4::bigint) ON CONFLICT (identity) DO NOTHING)"};

// The row is locked, and find_finished() has checked its expiry, so this does not check it again. The expiry ($5)
// selects its partition.
constexpr Statement copy_run{"hapax_retry_copy", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
made AS (
  INSERT INTO {s}.live (id, run_at, created_at, queue_id, max_attempts, max_lost, run, kind, state, priority, task,
                        input, deadline, attempt_timeout, retry, identity, identity_key, effect_key, parent, labels,
                        weight, limit_key, sequence)
  SELECT $3::uuid, t.now, t.now, h.queue_id, h.max_attempts, h.max_lost, h.run + 1, h.kind, 0, h.priority, h.task,
         h.input, t.now + (h.deadline - h.created_at), h.attempt_timeout, h.retry, h.identity, h.identity_key, $4::text,
         h.parent, h.labels, h.weight, h.limit_key, CASE WHEN h.limit_key IS NOT NULL THEN {next} END
  FROM {s}.history h, t WHERE h.id = $2::uuid AND h.expires_at = $5::bigint)
UPDATE {s}.history SET retried_as = $3::uuid, dead = false WHERE id = $2::uuid AND expires_at = $5::bigint)"};

struct Finished {
  Status status = Status::failed;
  int run = 1;
  std::optional<base::Digest> identity;
  std::optional<std::string> effect_key;
  std::optional<Uuid> retried_as;
  bool is_guard = false;
  std::int64_t expires_at_us = 0;
};

std::optional<Finished> find_finished(Connection& connection, const Uuid& id, std::int64_t offset_us) {
  const Result result = connection.query(lock_finished, Params().int8(offset_us).uuid(id));
  if (result.rows() == 0) { return std::nullopt; }
  RowReader reader(result, 0);
  Finished finished;
  finished.status = static_cast<Status>(reader.int2());
  finished.run = reader.int4();
  finished.identity = reader.optional_digest();
  finished.effect_key = reader.optional_bytes();
  finished.retried_as = reader.optional_uuid();
  finished.is_guard = reader.boolean();
  finished.expires_at_us = reader.int8();
  return finished;
}

// Fills in status and run of `result.existing`. False if it is not stored.
bool describe_existing(Connection& connection, RetryResult& result, std::int64_t offset_us) {
  const Result found = connection.query(find_any, Params().int8(offset_us).uuid(result.existing));
  if (found.rows() == 0) { return false; }
  RowReader reader(found, 0);
  result.status = static_cast<Status>(reader.int2());
  result.run = reader.int4();
  return true;
}

// Makes the new run the identity's holder, or returns the other execution that holds it.
std::optional<Holder> claim_identity(Connection& connection, const base::Digest& identity, const RetryRequest& request,
                                     int run, std::int64_t offset_us) {
  constexpr int rounds = 3;  // each lost race with another transaction's insert costs one
  for (int round = 0; round < rounds; ++round) {
    const HeldIdentities held = lock_holders(connection, {identity}, {}, offset_us).held;
    const auto found = held.find(identity);
    if (found != held.end()) {
      if (found->second.holder && found->second.holder->id != request.id) { return found->second.holder; }
      Params params;
      params.digest(identity).uuid(request.new_id).int4(run).int8(offset_us);
      params.boolean(found->second.holder.has_value());
      connection.query(retrying_repoint, params);
      return std::nullopt;
    }
    const Result taken =
        connection.query(take_identity, Params().digest(identity).uuid(request.new_id).int4(run).int8(offset_us));
    if (taken.affected() > 0) { return std::nullopt; }
  }
  throw StoreBusy("the identity changes hands too fast");
}

}  // namespace

RetryResult retry_one(Connection& connection, const RetryRequest& request, const Actor& by, std::int64_t offset_us) {
  const std::optional<Finished> finished = find_finished(connection, request.id, offset_us);
  RetryResult result{.existing = request.id};
  if (!finished) {
    if (describe_existing(connection, result, offset_us)) {
      result.verdict = RetryVerdict::not_finished;
      return result;
    }
    // Only this request creates a run with this id: an earlier try, whose answer was lost, created it before the old
    // run expired.
    result.existing = request.new_id;
    if (!describe_existing(connection, result, offset_us)) { return {}; }
    result.verdict = RetryVerdict::created;
    return result;
  }
  result.status = finished->status;
  result.run = finished->run;
  if (finished->is_guard) {
    result.verdict = RetryVerdict::guarded;
    return result;
  }
  if (finished->status == Status::completed) {
    result.verdict = RetryVerdict::completed;
    return result;
  }
  if (finished->retried_as) {
    result.existing = *finished->retried_as;
    result.verdict = *finished->retried_as == request.new_id ? RetryVerdict::created : RetryVerdict::already_retried;
    describe_existing(connection, result, offset_us);
    return result;
  }
  if (finished->identity) {
    if (const auto holder = claim_identity(connection, *finished->identity, request, finished->run + 1, offset_us)) {
      return {
          .verdict = RetryVerdict::identity_held, .existing = holder->id, .status = holder->status, .run = holder->run};
    }
  }
  const std::string key = request.new_effect_key ? effect_key(std::nullopt, std::nullopt, request.new_id)
                                                 : effect_key(finished->effect_key, finished->identity, request.id);
  Params copied;
  copied.int8(offset_us).uuid(request.id).uuid(request.new_id).text(key).int8(finished->expires_at_us);
  if (connection.query(copy_run, copied).affected() != 1) {
    throw StoreBusy("execution " + request.id.to_string() + " went away while it was retried; nothing was changed");
  }
  if (by.is_known()) {
    const std::string made = request.new_id.to_string();
    const Call note = act_call({.by = by, .action = "execution.retry", .done = {{request.id, made}}}, offset_us);
    connection.query(*note.statement, note.params);
  }
  return {.verdict = RetryVerdict::created,
          .existing = request.new_id,
          .status = Status::pending,
          .run = finished->run + 1};
}

}  // namespace hapax::store::postgres
