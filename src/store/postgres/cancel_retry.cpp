#include "store/postgres/cancel_retry.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/effect_key.hpp"
#include "model/labels.hpp"
#include "model/parent_close.hpp"
#include "store/postgres/audit.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/execution_row.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/identities.hpp"
#include "store/postgres/inbox.hpp"
#include "store/postgres/postgres_store.hpp"

#include <set>
#include <unordered_map>
#include <unordered_set>

namespace hapax::store::postgres {

namespace {

using namespace model;

constexpr Statement stopping_lock_live{"hapax_cancel_lock", R"(
SELECT id, state = 1, kind = 1 AND fence > 0, cancel_requested FROM {s}.live WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE)"};

constexpr Statement request_statement{"hapax_cancel_request", R"(
UPDATE {s}.live SET cancel_requested = true, cancel_error = $2::text
WHERE id = ANY ($1::uuid[]) AND NOT cancel_requested)"};

constexpr Statement children_statement{"hapax_children", R"(
SELECT l.id, l.labels, l.deadline, {now} + $2::bigint FROM {s}.live l WHERE l.parent = ANY ($1::uuid[]) AND l.kind = 1 ORDER BY l.id::text COLLATE "C")"};

}  // namespace

std::unordered_map<Uuid, CancelResult> stop(Connection& connection, const StopRequest& request, std::int64_t offset_us,
                                            FreedKeys& freed) {
  const std::string error = cancelled_error(request.reason);
  const std::unordered_set<Uuid> terminated(request.terminate.begin(), request.terminate.end());
  std::vector<Uuid> ids = request.cancel;
  ids.insert(ids.end(), request.terminate.begin(), request.terminate.end());
  const Result live = connection.query(stopping_lock_live, Params().array(uuid_array(ids)));
  std::unordered_map<Uuid, CancelResult> stopped;
  std::vector<Ending> endings;
  std::vector<Uuid> ended, asked;
  std::vector<Event> told;
  for (RowReader reader : live) {
    const Uuid id = reader.uuid();
    const bool running = reader.boolean();
    const bool begun = reader.boolean();
    if (terminated.contains(id) || (!running && !begun)) {
      endings.push_back({.id = id, .status = Status::cancelled, .error = error});
      if (begun) { ended.push_back(id); }
      stopped[id] = {.verdict = CancelVerdict::cancelled, .status = Status::cancelled};
      continue;
    }
    asked.push_back(id);
    if (begun && !reader.boolean()) {
      told.push_back({.execution = id, .kind = EventKind::cancel, .error = decode_error(error)});
    }
    stopped[id] = {.verdict = CancelVerdict::requested, .status = running ? Status::running : Status::pending};
  }
  if (!endings.empty()) {
    const Call call = end_call(endings, offset_us);
    freed.add_ended(connection.query(*call.statement, call.params));
  }
  if (!asked.empty()) { connection.query(request_statement, Params().array(uuid_array(asked)).text(error)); }
  if (!told.empty()) {
    const Call call = events_call(told, offset_us);
    connection.query(*call.statement, call.params);
  }
  if (!ended.empty()) { close_children(connection, ended, offset_us, freed); }
  return stopped;
}

void close_children(Connection& connection, const std::vector<Uuid>& ended, std::int64_t offset_us, FreedKeys& freed) {
  const Result result = connection.query(children_statement, Params().array(uuid_array(ended)).int8(offset_us));
  StopRequest request{.reason = parent_ended};
  for (RowReader reader : result) {
    const Uuid id = reader.uuid();
    const auto labels = reader.optional_bytes();
    const auto deadline = reader.optional_time();
    const Time now = reader.time();
    if (closes_with_parent(labels ? decode_labels(*labels) : Labels{}, deadline, now)) { request.cancel.push_back(id); }
  }
  if (!request.cancel.empty()) { static_cast<void>(stop(connection, request, offset_us, freed)); }
}

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

// An identity that is still held keeps its fingerprint and window.
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
constexpr std::string_view copy_run_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
made AS (
  INSERT INTO {s}.live (id, run_at, created_at, run, state, deadline, effect_key, sequence, {retried})
  SELECT $3::uuid, t.now, t.now, h.run + 1, 0, t.now + (h.deadline - h.created_at), $4::text,
         CASE WHEN h.limit_key IS NOT NULL THEN {next} END, {h.retried}
  FROM {s}.history h, t WHERE h.id = $2::uuid AND h.expires_at = $5::bigint)
UPDATE {s}.history SET retried_as = $3::uuid, dead = false WHERE id = $2::uuid AND expires_at = $5::bigint)";

const Statement& copy_run() {
  static const Statement& statement = made_statement(
      "hapax_retry_copy",
      fill(copy_run_text, {{"{retried}", names(&Column::retried)}, {"{h.retried}", names(&Column::retried, "h.")}}));
  return statement;
}

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
  throw StoreBusy("other requests keep taking over the identity; try again");
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
  if (connection.query(copy_run(), copied).affected() != 1) {
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

namespace {

constexpr Statement finished_statement{"hapax_cancel_finished", R"(
WITH t AS MATERIALIZED (SELECT {now} + $2::bigint AS now)
SELECT id, status, error FROM {s}.history WHERE id = ANY ($1::uuid[]) AND expires_at > (SELECT now FROM t))"};

constexpr Statement discard_statement{"hapax_discard", R"(
WITH t AS MATERIALIZED (SELECT {now} + $2::bigint AS now),
done AS (
  UPDATE {s}.history SET dead = false WHERE id = ANY ($1::uuid[]) AND dead AND expires_at > (SELECT now FROM t)
  RETURNING id, queue_id),
noted AS (
  INSERT INTO {s}.audit (ns, at, actor, action, subject, detail)
  SELECT q.ns, t.now, $3::text, 'execution.discard', d.id::text, ''
  FROM t, done d JOIN {s}.queues q ON q.id = d.queue_id WHERE $3::text <> '')
SELECT count(*) FROM done)"};

constexpr Statement annotate_statement{"hapax_annotate", R"(
WITH t AS MATERIALIZED (SELECT {now} + $2::bigint AS now),
done AS (
  UPDATE {s}.history SET note = $4::text WHERE id = ANY ($1::uuid[]) AND expires_at > (SELECT now FROM t)
  RETURNING id, queue_id),
noted AS (
  INSERT INTO {s}.audit (ns, at, actor, action, subject, detail)
  SELECT q.ns, t.now, $3::text, 'execution.annotate', d.id::text, $4::text
  FROM t, done d JOIN {s}.queues q ON q.id = d.queue_id WHERE $3::text <> '')
SELECT count(*) FROM done)"};

using Cancelled = std::unordered_map<Uuid, CancelResult>;

// 1 round trip, none when no execution was cancelled.
void audit_cancelled(Connection& connection, const Actor& by, std::string_view reason, std::span<const Uuid> ids,
                     const Cancelled& found, std::int64_t offset_us) {
  Acts acts{.by = by, .action = "execution.cancel", .done = {}};
  for (const Uuid& id : ids) {
    if (found.contains(id)) { acts.done.push_back({.execution = id, .detail = reason}); }
  }
  if (acts.done.empty()) { return; }
  const Call call = act_call(acts, offset_us);
  connection.query(*call.statement, call.params);
}

}  // namespace

// 4 to 7 round trips, 1 more with an audit line. After a lost answer to the commit, the repetition reports executions
// that have ended as cancelled with this reason as cancelled by this call.
std::vector<CancelResult> PostgresStore::cancel(std::span<const Uuid> ids, std::string_view reason, const Actor& by) {
  if (ids.empty()) { return {}; }
  bool maybe_committed = false;
  return run([&](Connection& connection) {
    FreedKeys freed;
    TransactionGuard guard(connection);
    const StopRequest request{.cancel = {ids.begin(), ids.end()}, .terminate = {}, .reason = reason};
    std::unordered_map<Uuid, CancelResult> found = stop(connection, request, offset_us(), freed);
    const Result finished = connection.query(finished_statement, Params().array(uuid_array(ids)).int8(offset_us()));
    if (by.is_known()) { audit_cancelled(connection, by, reason, ids, found, offset_us()); }
    for (RowReader reader : finished) {
      const Uuid id = reader.uuid();
      const auto status = static_cast<Status>(reader.int2());
      const bool is_ours = maybe_committed && reader.optional_bytes() == cancelled_error(reason);
      found.try_emplace(
          id, CancelResult{.verdict = is_ours ? CancelVerdict::cancelled : CancelVerdict::finished, .status = status});
    }
    maybe_committed = true;
    guard.commit();
    connection.fault_point("postgres.cancel.after_commit");
    unpark(connection, freed);
    std::vector<CancelResult> results;
    std::set<Uuid> seen;
    for (const Uuid& id : ids) {
      CancelResult result = found[id];
      if (!seen.insert(id).second && result.verdict == CancelVerdict::cancelled) {
        result.verdict = CancelVerdict::finished;  // the id is named twice: the first mention has cancelled it
      }
      results.push_back(result);
    }
    return results;
  });
}

std::vector<RetryResult> PostgresStore::retry(std::span<const RetryRequest> requests, const Actor& by) {
  if (requests.empty()) { return {}; }
  return run([&](Connection& connection) {
    std::vector<RetryResult> results;
    TransactionGuard guard(connection);
    for (const RetryRequest& request : requests) { results.push_back(retry_one(connection, request, by, offset_us())); }
    guard.commit();
    return results;
  });
}

// 1 round trip.
int PostgresStore::discard(std::span<const Uuid> ids, const Actor& by) {
  return run([&](Connection& connection) {
    Params params;
    params.array(uuid_array(ids)).int8(offset_us()).text(base::escape_invalid(by.name));
    return static_cast<int>(RowReader(connection.query(discard_statement, params), 0).int8());
  });
}

// 1 round trip.
int PostgresStore::annotate(std::span<const Uuid> ids, std::string_view note, const Actor& by) {
  const std::string kept = base::keep_head(base::escape_invalid(note), limits::note_bytes);
  return run([&](Connection& connection) {
    Params params;
    params.array(uuid_array(ids)).int8(offset_us()).text(base::escape_invalid(by.name)).text(kept);
    return static_cast<int>(RowReader(connection.query(annotate_statement, params), 0).int8());
  });
}

}  // namespace hapax::store::postgres
