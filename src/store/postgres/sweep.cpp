#include "store/postgres/audit.hpp"
#include "store/postgres/endings.hpp"
#include "store/postgres/partitions.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/stopping.hpp"
#include "store/postgres/transaction_guard.hpp"

#include "model/labels.hpp"

namespace hapax::store::postgres {

namespace {

// The clock was set back: their leases are no longer for that. Locked ones are being renewed, or swept.
constexpr Statement far_sessions{"hapax_far_sessions", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
UPDATE {s}.sessions SET expires_at = (SELECT now FROM t) + lease_us WHERE id = ANY (ARRAY(
  SELECT id FROM {s}.sessions WHERE expires_at > (SELECT now FROM t) + lease_us FOR UPDATE SKIP LOCKED)))"};

// Locked rows are passed over: another sweeper has them.
constexpr Statement lost_sessions{"hapax_lost_sessions", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT id FROM {s}.sessions WHERE expires_at <= (SELECT now FROM t) ORDER BY id LIMIT $2::bigint
FOR UPDATE SKIP LOCKED)"};

// Sessions that running rows name but that are gone: a claim that was committed just after its session was swept. Not of
// guards, which run on until somebody takes them over.
constexpr Statement orphans{"hapax_orphan_sessions", R"(
SELECT DISTINCT l.session FROM {s}.live l
WHERE l.state = 1 AND l.kind <> 2 AND NOT EXISTS (SELECT FROM {s}.sessions s WHERE s.id = l.session) LIMIT $1::bigint)"};

constexpr Statement held_by{"hapax_held_by_sessions", R"(
SELECT id, fence, session FROM {s}.live WHERE state = 1 AND session = ANY ($1::uuid[]) AND kind <> 2
ORDER BY session, id LIMIT $2::bigint FOR UPDATE SKIP LOCKED)"};

constexpr Statement forget{"hapax_forget_sessions", R"(
DELETE FROM {s}.sessions s WHERE s.id = ANY ($1::uuid[])
  AND NOT EXISTS (SELECT FROM {s}.live l WHERE l.session = s.id AND l.state = 1 AND l.kind <> 2))"};

constexpr Statement overdue{"hapax_overdue", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT id FROM {s}.live WHERE deadline IS NOT NULL AND deadline <= (SELECT now FROM t)
ORDER BY deadline LIMIT $2::bigint FOR UPDATE SKIP LOCKED)"};

constexpr Statement old_stats{"hapax_old_stats",
                              "DELETE FROM {s}.queue_stats WHERE at < {now} + $1::bigint - 3600000000"};

// A theoretical arrival that has passed means as much as none.
constexpr Statement old_rates{"hapax_old_rates", R"(
DELETE FROM {s}.rates WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM {s}.rates WHERE arrival <= {now} + $1::bigint ORDER BY arrival LIMIT $2::bigint
  FOR UPDATE SKIP LOCKED)))"};

std::vector<Uuid> read_ids(const Result& result) {
  std::vector<Uuid> ids;
  for (int row = 0; row < result.rows(); ++row) { ids.push_back(RowReader(result, row).uuid()); }
  return ids;
}

// Running executions of these sessions wait again, or end if they were lost too often or are to be cancelled. Returns
// how many there were.
int lose(Connection& connection, const std::vector<Uuid>& sessions, int limit, std::int64_t offset_us,
         SweepReport& report, FreedKeys& freed) {
  const Result held = connection.query(held_by, Params().array(uuid_array(sessions)).int8(limit));
  std::vector<Waiting> waiting;
  for (int row = 0; row < held.rows(); ++row) {
    RowReader reader(held, row);
    const Uuid id = reader.uuid();
    waiting.push_back({.id = id, .fence = reader.int8(), .why = BackInLine::lost});
  }
  if (waiting.empty()) { return 0; }
  const Call call = wait_call(waiting, offset_us);
  const Result back = connection.query(*call.statement, call.params);
  freed.add_waiting(back);
  std::vector<Ending> endings;
  std::vector<Uuid> dead;
  for (int row = 0; row < back.rows(); ++row) {
    RowReader reader(back, row);
    const Uuid id = reader.uuid();
    const int lost = reader.int4();
    const int max_lost = reader.int4();
    if (reader.boolean()) {
      endings.push_back({.id = id, .status = Status::cancelled});
    } else if (lost >= max_lost) {
      const ErrorInfo error{
          .type = "WorkerLost", .message = "lost with its worker " + std::to_string(lost) + " times", .detail = ""};
      endings.push_back({.id = id, .status = Status::failed, .error = encode_error(error)});
      dead.push_back(id);
      report.dead += 1;
    } else {
      report.requeued += 1;
    }
  }
  if (!endings.empty()) {
    const Call end = end_call(endings, offset_us);
    freed.add_ended(connection.query(*end.statement, end.params));
  }
  if (!dead.empty()) { close_children(connection, dead, offset_us, freed); }
  return held.rows();
}

// Returns the limit keys that this frees, as does the next.
FreedKeys sweep_sessions(Connection& connection, int limit, std::int64_t offset_us, SweepReport& report) {
  FreedKeys freed;
  SweepReport swept;  // told only when committed
  TransactionGuard guard(connection);
  connection.query(far_sessions, Params().int8(offset_us));
  std::vector<Uuid> lost = read_ids(connection.query(lost_sessions, Params().int8(offset_us).int8(limit)));
  const std::vector<Uuid> gone = read_ids(connection.query(orphans, Params().int8(limit)));
  std::vector<Uuid> all = lost;
  all.insert(all.end(), gone.begin(), gone.end());
  if (all.empty()) {
    guard.commit();
    return freed;
  }
  swept.more = lose(connection, all, limit, offset_us, swept, freed) >= limit || std::ssize(lost) >= limit;
  swept.lost_sessions = static_cast<int>(connection.query(forget, Params().array(uuid_array(lost))).affected());
  guard.commit();
  report = swept;
  return freed;
}

FreedKeys sweep_deadlines(Connection& connection, int limit, std::int64_t offset_us, SweepReport& report) {
  FreedKeys freed;
  TransactionGuard guard(connection);
  const std::vector<Uuid> ids = read_ids(connection.query(overdue, Params().int8(offset_us).int8(limit)));
  std::vector<Ending> endings;
  static const std::string& error = keep_text(
      encode_error({.type = "DeadlineExceeded", .message = "the execution's deadline has passed", .detail = ""}));
  for (const Uuid& id : ids) { endings.push_back({.id = id, .status = Status::timed_out, .error = error}); }
  if (!endings.empty()) {
    const Call call = end_call(endings, offset_us);
    freed.add_ended(connection.query(*call.statement, call.params));
    close_children(connection, ids, offset_us, freed);
  }
  guard.commit();
  report.timed_out += static_cast<int>(ids.size());
  report.more = report.more || std::ssize(ids) >= limit;
  return freed;
}

}  // namespace

// Each kind of work is a transaction of its own, bounded by the limit: 5 and 4 round trips when there is nothing to do,
// and 1 for limit keys.
SweepReport PostgresStore::sweep(const SweepRequest& request) {
  SweepReport report = run([&](Connection& connection) {
    const Connection::AnswerLimit patience(connection);
    SweepReport swept;
    unpark(connection, sweep_sessions(connection, request.limit, offset_us(), swept));
    return swept;
  });
  run([&](Connection& connection) {
    const Connection::AnswerLimit patience(connection);
    unpark(connection, sweep_deadlines(connection, request.limit, offset_us(), report));
    unpark_stranded(connection);
  });
  if (request.retention) {
    run(Planning::plain, [&](Connection& connection) {
      const Connection::AnswerLimit patience(connection);
      const Dropped dropped = drop_expired(connection, offset_us(), request.limit);
      report.expired += static_cast<int>(dropped.executions);
      report.more = report.more || dropped.more;
      make_partitions(connection, offset_us());
      connection.query(old_stats, Params().int8(offset_us()));
      connection.query(old_rates, Params().int8(offset_us()).int8(request.limit));
      report.more = sweep_audit(connection, request.limit, offset_us()) || report.more;
    });
  }
  return report;
}

}  // namespace hapax::store::postgres
