#include "store/postgres/audit.hpp"
#include "store/postgres/endings.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/retrying.hpp"
#include "store/postgres/stopping.hpp"
#include "store/postgres/transaction_guard.hpp"

#include "base/fault.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

#include <set>
#include <unordered_map>

namespace hapax::store::postgres {

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

Array id_array(std::span<const Uuid> ids) {
  Array array(Type::uuid, ids.size());
  for (const Uuid& id : ids) { array.uuid(id); }
  return array;
}

using Cancelled = std::unordered_map<Uuid, CancelResult>;

// 1 round trip, none when nothing was done.
void note_cancelled(Connection& connection, const Actor& by, std::string_view reason, std::span<const Uuid> ids,
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

// BEGIN, stop, look among the finished, COMMIT: 4 to 7 round trips, 1 more with an audit line. When a commit's answer
// was lost, the repetition counts an execution that ended as cancelled for this very reason as cancelled by it.
std::vector<CancelResult> PostgresStore::cancel(std::span<const Uuid> ids, std::string_view reason, const Actor& by) {
  if (ids.empty()) { return {}; }
  bool maybe_committed = false;
  return run([&](Connection& connection) {
    FreedKeys freed;
    TransactionGuard guard(connection);
    const StopRequest request{.cancel = {ids.begin(), ids.end()}, .terminate = {}, .reason = reason};
    std::unordered_map<Uuid, CancelResult> found = stop(connection, request, offset_us(), freed);
    const Result finished = connection.query(finished_statement, Params().array(id_array(ids)).int8(offset_us()));
    if (by.is_known()) { note_cancelled(connection, by, reason, ids, found, offset_us()); }
    for (int row = 0; row < finished.rows(); ++row) {
      RowReader reader(finished, row);
      const Uuid id = reader.uuid();
      const auto status = static_cast<Status>(reader.int2());
      const bool is_ours = maybe_committed && reader.optional_bytes() == cancelled_error(reason);
      found.try_emplace(
          id, CancelResult{.verdict = is_ours ? CancelVerdict::cancelled : CancelVerdict::finished, .status = status});
    }
    maybe_committed = true;
    guard.commit();
    try {
      base::fault_point("postgres.cancel.after_commit");
    } catch (const base::FaultInjected& fault) { connection.fail(fault.what()); }
    unpark(connection, freed);
    std::vector<CancelResult> results;
    std::set<Uuid> seen;
    for (const Uuid& id : ids) {
      CancelResult result = found[id];
      if (!seen.insert(id).second && result.verdict == CancelVerdict::cancelled) {
        result.verdict = CancelVerdict::finished;  // named twice: the second meets what the first did
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
    params.array(id_array(ids)).int8(offset_us()).text(base::escape_invalid(by.name));
    return static_cast<int>(RowReader(connection.query(discard_statement, params), 0).int8());
  });
}

// 1 round trip.
int PostgresStore::annotate(std::span<const Uuid> ids, std::string_view note, const Actor& by) {
  const std::string kept = base::keep_head(base::escape_invalid(note), limits::note_bytes);
  return run([&](Connection& connection) {
    Params params;
    params.array(id_array(ids)).int8(offset_us()).text(base::escape_invalid(by.name)).text(kept);
    return static_cast<int>(RowReader(connection.query(annotate_statement, params), 0).int8());
  });
}

}  // namespace hapax::store::postgres
