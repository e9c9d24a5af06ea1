#include "store/postgres/audit.hpp"
#include "store/postgres/cancel_retry.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/retention.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/labels.hpp"

#include <new>
#include <optional>
#include <span>

namespace hapax::store::postgres {

namespace {

// Sessions whose leases end too far ahead because the clock was set back. Locked ones are being renewed or swept.
constexpr Statement far_sessions{"hapax_far_sessions", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
UPDATE {s}.sessions SET expires_at = (SELECT now FROM t) + lease_us WHERE id = ANY (ARRAY(
  SELECT id FROM {s}.sessions WHERE expires_at > (SELECT now FROM t) + lease_us FOR UPDATE SKIP LOCKED)))"};

// Locked rows are passed over, as another sweeper has them.
constexpr Statement lost_sessions{"hapax_lost_sessions", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT id FROM {s}.sessions WHERE expires_at <= (SELECT now FROM t) ORDER BY id LIMIT $2::bigint
FOR UPDATE SKIP LOCKED)"};

// Sessions that running rows name but that are gone: a claim committed just after its session was swept. Guards are
// left out, as they run on until another caller takes them over.
constexpr Statement orphaned_sessions{"hapax_orphan_sessions", R"(
SELECT DISTINCT l.session FROM {s}.live l
WHERE l.state = 1 AND l.kind <> 2 AND NOT EXISTS (SELECT FROM {s}.sessions s WHERE s.id = l.session) LIMIT $1::bigint)"};

constexpr Statement executions_held_by{"hapax_held_by_sessions", R"(
SELECT id, fence FROM {s}.live WHERE state = 1 AND session = ANY ($1::uuid[]) AND kind <> 2 AND id <> ALL ($3::uuid[])
ORDER BY session, id LIMIT $2::bigint FOR UPDATE SKIP LOCKED)"};

constexpr Statement delete_sessions{"hapax_forget_sessions", R"(
DELETE FROM {s}.sessions s WHERE s.id = ANY ($1::uuid[])
  AND NOT EXISTS (SELECT FROM {s}.live l WHERE l.session = s.id AND l.state = 1 AND l.kind <> 2))"};

constexpr Statement overdue_executions{"hapax_overdue", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT id FROM {s}.live WHERE deadline IS NOT NULL AND deadline <= (SELECT now FROM t) AND id <> ALL ($3::uuid[])
ORDER BY deadline LIMIT $2::bigint FOR UPDATE SKIP LOCKED)"};

constexpr Statement old_stats{"hapax_old_stats",
                              "DELETE FROM {s}.queue_stats WHERE at < {now} + $1::bigint - 3600000000"};

// A theoretical arrival time that has passed means the same as none.
constexpr Statement old_rates{"hapax_old_rates", R"(
DELETE FROM {s}.rates WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM {s}.rates WHERE arrival <= {now} + $1::bigint ORDER BY arrival LIMIT $2::bigint
  FOR UPDATE SKIP LOCKED)))"};

std::vector<Uuid> read_ids(const Result& result) {
  std::vector<Uuid> ids;
  for (RowReader reader : result) { ids.push_back(reader.uuid()); }
  return ids;
}

// One sweep: its report, the limit keys that it frees, and the rows that it and earlier sweeps set aside.
struct Sweep {
  SetAside& aside;
  std::int64_t offset_us = 0;
  SweepReport report;
  FreedKeys freed;
};

// Whether the error is about the data of a row. Deadlocks, the disk, the server and its schema concern the whole store.
bool is_row_error(const SqlError& error) {
  const std::string& state = error.sqlstate();
  return state.starts_with("22") || state.starts_with("23") || state.starts_with("54") || state.starts_with("P0");
}

// Does `work` behind a savepoint. If `work` meets bad data, undoes all of it and returns the error; returns nothing on
// success. 2 round trips.
template <class Work>
std::optional<std::string> try_with_savepoint(Connection& connection, Sweep& sweep, Work work) {
  const SweepReport report = sweep.report;
  const FreedKeys freed = sweep.freed;
  std::string trouble;
  connection.command("SAVEPOINT hapax_apart");
  try {
    work();
    connection.command("RELEASE SAVEPOINT hapax_apart");
    return std::nullopt;
  } catch (const SqlError& error) {
    if (!is_row_error(error)) { throw; }
    trouble = error.what();
  } catch (const ConnectionBroken&) { throw; } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) { trouble = error.what(); }
  connection.command("ROLLBACK TO SAVEPOINT hapax_apart; RELEASE SAVEPOINT hapax_apart");
  sweep.report = report;
  sweep.freed = freed;
  return trouble;
}

// Does `work` on all rows at once. If bad data makes it fail, does `work` on each half, down to single rows, and sets
// the bad rows aside.
template <class Row, class Work>
void try_in_halves(Connection& connection, Sweep& sweep, std::span<const Row> rows, const Work& work) {
  if (rows.empty()) { return; }
  const std::optional<std::string> trouble = try_with_savepoint(connection, sweep, [&] { work(rows); });
  if (!trouble) { return; }
  if (rows.size() == 1) {
    const Result now =
        connection.query_text(connection.sql("SELECT {now} + $1::bigint"), Params().int8(sweep.offset_us));
    sweep.aside.add(rows.front().id, RowReader(now, 0).time(), *trouble);
    return;
  }
  const std::size_t half = rows.size() / 2;
  try_in_halves(connection, sweep, rows.first(half), work);
  try_in_halves(connection, sweep, rows.subspan(half), work);
}

// Lost executions become pending again, or end if they were lost too often or must be cancelled.
void requeue_lost(Connection& connection, Sweep& sweep, std::span<const Waiting> waiting) {
  const Call call = wait_call({waiting.begin(), waiting.end()}, sweep.offset_us);
  const Result back = connection.query(*call.statement, call.params);
  sweep.freed.add_waiting(back);
  std::vector<Ending> endings;
  std::vector<Uuid> dead;
  for (RowReader reader : back) {
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
      sweep.report.dead += 1;
    } else {
      sweep.report.requeued += 1;
    }
  }
  if (!endings.empty()) {
    const Call end = end_call(endings, sweep.offset_us);
    sweep.freed.add_ended(connection.query(*end.statement, end.params));
  }
  if (!dead.empty()) { close_children(connection, dead, sweep.offset_us, sweep.freed); }
}

// A session with a row that was set aside stays until that row is repaired: `forget` passes over it.
void sweep_sessions(Connection& connection, int limit, Sweep& sweep) {
  TransactionGuard guard(connection);
  connection.query(far_sessions, Params().int8(sweep.offset_us));
  const std::vector<Uuid> lost = read_ids(connection.query(lost_sessions, Params().int8(sweep.offset_us).int8(limit)));
  const std::vector<Uuid> gone = read_ids(connection.query(orphaned_sessions, Params().int8(limit)));
  std::vector<Uuid> all = lost;
  all.insert(all.end(), gone.begin(), gone.end());
  if (all.empty()) {
    guard.commit();
    return;
  }
  const Result held = connection.query(
      executions_held_by, Params().array(uuid_array(all)).int8(limit).array(uuid_array(sweep.aside.rows())));
  std::vector<Waiting> waiting;
  for (RowReader reader : held) {
    const Uuid id = reader.uuid();
    waiting.push_back({.id = id, .fence = reader.int8(), .why = BackInLine::lost});
  }
  try_in_halves(connection, sweep, std::span<const Waiting>(waiting),
                [&](std::span<const Waiting> rows) { requeue_lost(connection, sweep, rows); });
  sweep.report.lost_sessions =
      static_cast<int>(connection.query(delete_sessions, Params().array(uuid_array(lost))).affected());
  guard.commit();
  sweep.report.more = std::ssize(waiting) >= limit || (std::ssize(lost) >= limit && sweep.report.lost_sessions > 0);
}

void time_out(Connection& connection, Sweep& sweep, std::span<const Ending> endings) {
  const Call call = end_call({endings.begin(), endings.end()}, sweep.offset_us);
  const Result ended = connection.query(*call.statement, call.params);
  sweep.freed.add_ended(ended);
  std::vector<Uuid> ids;
  for (const Ending& ending : endings) { ids.push_back(ending.id); }
  close_children(connection, ids, sweep.offset_us, sweep.freed);
  sweep.report.timed_out += ended.rows();
}

void sweep_deadlines(Connection& connection, int limit, Sweep& sweep) {
  TransactionGuard guard(connection);
  const std::vector<Uuid> ids = read_ids(connection.query(
      overdue_executions, Params().int8(sweep.offset_us).int8(limit).array(uuid_array(sweep.aside.rows()))));
  static const std::string& error = keep_text(
      encode_error({.type = "DeadlineExceeded", .message = "the execution's deadline has passed", .detail = ""}));
  std::vector<Ending> endings;
  for (const Uuid& id : ids) { endings.push_back({.id = id, .status = Status::timed_out, .error = error}); }
  try_in_halves(connection, sweep, std::span<const Ending>(endings),
                [&](std::span<const Ending> rows) { time_out(connection, sweep, rows); });
  guard.commit();
  sweep.report.more = std::ssize(ids) >= limit;
}

void add(SweepReport& total, const SweepReport& part) {
  total.lost_sessions += part.lost_sessions;
  total.requeued += part.requeued;
  total.dead += part.dead;
  total.timed_out += part.timed_out;
  total.expired += part.expired;
  total.more = total.more || part.more;
}

// A part that fails because of its data does not stop the other parts; an error that concerns the whole store does.
template <class Part>
void try_part(SweepReport& report, Part part) {
  try {
    add(report, part());
  } catch (const StoreUnavailable&) { throw; } catch (const SchemaMismatch&) {
    throw;
  } catch (const Error& error) { report.failure = base::keep_head(error.what(), limits::sweep_error_bytes); }
}

}  // namespace

// Each kind of work is a transaction of its own, bounded by the limit: 5 and 4 round trips when there is nothing to do,
// and 1 for limit keys. Rows are processed together, and in halves when one of them fails.
SweepReport PostgresStore::sweep(const SweepRequest& request) {
  if (set_aside_.size() > 0) { set_aside_.forget_old(now()); }
  SweepReport report;
  const auto begin = [&] { return Sweep{.aside = set_aside_, .offset_us = offset_us(), .report = {}, .freed = {}}; };
  try_part(report, [&] {
    return read([&](Connection& connection) {
      const Connection::AnswerLimit patience(connection);
      Sweep sweep = begin();
      sweep_sessions(connection, request.limit, sweep);
      unpark(connection, sweep.freed);
      return sweep.report;
    });
  });
  try_part(report, [&] {
    return read([&](Connection& connection) {
      const Connection::AnswerLimit patience(connection);
      Sweep sweep = begin();
      sweep_deadlines(connection, request.limit, sweep);
      unpark(connection, sweep.freed);
      unpark_stranded(connection);
      return sweep.report;
    });
  });
  if (request.retention) {
    try_part(report, [&] {
      return read(Planning::plain, [&](Connection& connection) {
        const Connection::AnswerLimit patience(connection);
        SweepReport swept;
        const Dropped dropped = drop_expired(connection, offset_us(), request.limit);
        swept.expired = static_cast<int>(dropped.executions);
        make_partitions(connection, offset_us());
        connection.query(old_stats, Params().int8(offset_us()));
        connection.query(old_rates, Params().int8(offset_us()).int8(request.limit));
        swept.more = sweep_audit(connection, request.limit, offset_us()) || dropped.more;
        return swept;
      });
    });
  }
  set_aside_.add_to(report);
  return report;
}

}  // namespace hapax::store::postgres
