#include "store/postgres/endings.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/retrying.hpp"
#include "store/postgres/telling.hpp"
#include "store/postgres/transaction_guard.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/labels.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

constexpr Statement lock_live{"hapax_cancel_lock", R"(
SELECT id, state = 1, kind = 1 AND fence > 0, cancel_requested FROM {s}.live WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE)"};

constexpr Statement request_statement{"hapax_cancel_request", R"(
UPDATE {s}.live SET cancel_requested = true, cancel_error = $2::text
WHERE id = ANY ($1::uuid[]) AND NOT cancel_requested)"};

constexpr Statement finished_statement{"hapax_cancel_finished", R"(
WITH t AS MATERIALIZED (SELECT {now} + $2::bigint AS now)
SELECT id, status FROM {s}.history WHERE id = ANY ($1::uuid[]) AND expires_at > (SELECT now FROM t))"};

constexpr Statement discard_statement{"hapax_discard", R"(
WITH t AS MATERIALIZED (SELECT {now} + $2::bigint AS now)
UPDATE {s}.history SET dead = false WHERE id = ANY ($1::uuid[]) AND dead AND expires_at > (SELECT now FROM t))"};

constexpr Statement annotate_statement{"hapax_annotate", R"(
WITH t AS MATERIALIZED (SELECT {now} + $2::bigint AS now)
UPDATE {s}.history SET note = $3::text WHERE id = ANY ($1::uuid[]) AND expires_at > (SELECT now FROM t))"};

Array id_array(std::span<const Uuid> ids) {
  Array array(Type::uuid, ids.size());
  for (const Uuid& id : ids) { array.uuid(id); }
  return array;
}

}  // namespace

// BEGIN, lock, end or ask, look among the finished, COMMIT: 4 to 7 round trips. Rows are locked by id, as everywhere. A
// workflow that has begun is told, and ends by itself.
std::vector<CancelResult> PostgresStore::cancel(std::span<const Uuid> ids, std::string_view reason) {
  if (ids.empty()) { return {}; }
  const std::string error = cancelled_error(reason);
  return run([&](Connection& connection) {
    std::unordered_map<Uuid, CancelResult> found;
    FreedKeys freed;
    TransactionGuard guard(connection);
    const Result live = connection.query(lock_live, Params().array(id_array(ids)));
    std::vector<Ending> pending;
    std::vector<Uuid> asked;
    std::vector<Event> told;
    for (int row = 0; row < live.rows(); ++row) {
      RowReader reader(live, row);
      const Uuid id = reader.uuid();
      const bool running = reader.boolean();
      const bool begun = reader.boolean();
      if (running || begun) {
        asked.push_back(id);
        if (begun && !reader.boolean()) {
          told.push_back({.execution = id, .kind = EventKind::cancel, .error = decode_error(error)});
        }
        found[id] = {.verdict = CancelVerdict::requested, .status = running ? Status::running : Status::pending};
      } else {
        pending.push_back({.id = id, .status = Status::cancelled, .error = error});
      }
    }
    const Result finished = connection.query(finished_statement, Params().array(id_array(ids)).int8(offset_us()));
    for (int row = 0; row < finished.rows(); ++row) {
      RowReader reader(finished, row);
      const Uuid id = reader.uuid();
      found[id] = {.verdict = CancelVerdict::finished, .status = static_cast<Status>(reader.int2())};
    }
    if (!pending.empty()) {
      const Call call = end_call(pending, offset_us());
      freed.add_ended(connection.query(*call.statement, call.params));
      for (const Ending& ending : pending) {
        found[ending.id] = {.verdict = CancelVerdict::cancelled, .status = Status::cancelled};
      }
    }
    if (!asked.empty()) { connection.query(request_statement, Params().array(uuid_array(asked)).text(error)); }
    if (!told.empty()) {
      const Call call = tell_call(told, offset_us());
      connection.query(*call.statement, call.params);
    }
    guard.commit();
    unpark(connection, freed);
    std::vector<CancelResult> results;
    std::set<Uuid> seen;
    for (const Uuid& id : ids) {
      CancelResult result = found[id];
      if (!seen.insert(id).second && result.verdict == CancelVerdict::cancelled) {
        result.verdict = CancelVerdict::finished;  // asked for twice: the second meets what the first did
      }
      results.push_back(result);
    }
    return results;
  });
}

std::vector<RetryResult> PostgresStore::retry(std::span<const RetryRequest> requests) {
  if (requests.empty()) { return {}; }
  return run([&](Connection& connection) {
    std::vector<RetryResult> results;
    TransactionGuard guard(connection);
    for (const RetryRequest& request : requests) { results.push_back(retry_one(connection, request, offset_us())); }
    guard.commit();
    return results;
  });
}

// 1 round trip.
int PostgresStore::discard(std::span<const Uuid> ids) {
  return run([&](Connection& connection) {
    return static_cast<int>(
        connection.query(discard_statement, Params().array(id_array(ids)).int8(offset_us())).affected());
  });
}

// 1 round trip.
int PostgresStore::annotate(std::span<const Uuid> ids, std::string_view note) {
  const std::string kept = base::keep_head(base::escape_invalid(note), limits::note_bytes);
  return run([&](Connection& connection) {
    Params params;
    params.array(id_array(ids)).int8(offset_us()).text(kept);
    return static_cast<int>(connection.query(annotate_statement, params).affected());
  });
}

}  // namespace hapax::store::postgres
