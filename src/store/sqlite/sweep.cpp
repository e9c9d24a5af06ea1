// The sweep: lost sessions, passed deadlines, retention, each bounded by the request's limit. A sweep that finds
// nothing costs 2 SELECTs and an UPDATE without rows (with retention 1 SELECT more, and 4 DELETEs without rows) and no
// fdatasync.
//
// Each row is swept behind a savepoint of its own: an error is undone and reported, and the other rows go on. Each of
// the three parts is also behind a savepoint, for its statements that concern no single row. Errors of the disk and of
// locks end the sweep.
#include "store/sqlite/sweep.hpp"
#include "model/labels.hpp"
#include "store/sqlite/live_row.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* far_sessions_sql = "UPDATE sessions SET expires_at = ?1 + lease WHERE expires_at > ?1 + lease";
constexpr const char* lost_sessions_sql = "SELECT id FROM sessions WHERE expires_at <= ? ORDER BY id";
constexpr const char* forget_session_sql = "DELETE FROM sessions WHERE id = ?";
constexpr const char* deadlines_sql =
    "SELECT id FROM live INDEXED BY live_deadline WHERE deadline IS NOT NULL AND deadline <= ? ORDER BY deadline, id "
    "LIMIT ?";

std::vector<Uuid> read_ids(Cursor& cursor) {
  std::vector<Uuid> ids;
  while (cursor.next()) { ids.push_back(cursor.uuid(0)); }
  return ids;
}

// Makes an execution whose worker was lost pending again, or ends it if it was lost max_lost times.
void requeue_lost(WriteTransaction& tx, const Uuid& id, SweepReport& report) {
  FoundLive found(tx, id);
  if (!found) { return; }
  add_attempt(tx, *found, "lost", std::nullopt, found->claimed_at.value_or(tx.now()));
  const int lost = found->lost + 1;
  const bool ends = found->to_be_cancelled() || lost >= found->max_lost;
  if (!ends) {
    Waiting waiting = as_pending(*found, found->run_at, found->attempt);
    waiting.lost = lost;
    found.close();
    make_pending(tx, id, waiting);
    report.requeued += 1;
    return;
  }
  Ending ending{.status = Status::cancelled};
  if (found->to_be_cancelled()) {
    ending.error = cancelled_error(found->cancel_reason.value_or(""));
  } else {
    ending.status = Status::failed;
    ending.error = encode_error(
        {.type = "WorkerLost", .message = "lost with its worker " + std::to_string(lost) + " times", .detail = ""});
    report.dead += 1;
  }
  ending.lost = lost;
  end_and_close_children(tx, found, ending);
}

// A session with a row that was set aside stays until that row is repaired; the session's other executions are requeued
// now.
void sweep_sessions(Sweep& sweep, int limit) {
  WriteTransaction& tx = sweep.tx;
  // Leases that end too far ahead, because the clock was set back, are shortened.
  tx.db().use(far_sessions_sql).bind(tx.now()).run();
  std::vector<Uuid> lost;
  {
    Cursor cursor = tx.db().use(lost_sessions_sql);
    lost = read_ids(cursor.bind(tx.now()));
  }
  int budget = limit;
  for (const Uuid& session : lost) {
    Sweep::Rows running = sweep.pick(claimed_by(tx.db(), session, sweep.rows_to_fetch(budget)), budget);
    for (const Uuid& id : running.ids) {
      if (!sweep.try_on(id, [&] { requeue_lost(tx, id, sweep.report); })) { running.left = true; }
      budget -= 1;
    }
    if (!running.all) {
      sweep.report.more = true;
      return;
    }
    if (running.left) { continue; }
    tx.db().use(forget_session_sql).bind(session).run();
    sweep.report.lost_sessions += 1;
  }
}

void time_out(WriteTransaction& tx, const Uuid& id, SweepReport& report) {
  FoundLive found(tx, id);
  if (!found) { return; }  // the sweep has ended it together with another row
  end_and_close_children(
      tx, found,
      {.status = Status::timed_out,
       .error =
           encode_error({.type = "DeadlineExceeded", .message = "the execution's deadline has passed", .detail = ""}),
       .started_at = found->session ? found->claimed_at : std::nullopt});
  report.timed_out += 1;
}

void sweep_deadlines(Sweep& sweep, int limit) {
  WriteTransaction& tx = sweep.tx;
  std::vector<Uuid> found;
  {
    Cursor cursor = tx.db().use(deadlines_sql);
    found = read_ids(cursor.bind(tx.now(), sweep.rows_to_fetch(limit)));
  }
  const Sweep::Rows passed = sweep.pick(found, limit);
  for (const Uuid& id : passed.ids) {
    (void)sweep.try_on(id, [&] { time_out(tx, id, sweep.report); });
  }
  if (!passed.all) { sweep.report.more = true; }
}

}  // namespace

SweepReport sweep(WriteTransaction& tx, const SweepRequest& request, RetentionCursor& cursor, SetAside& aside) {
  Sweep sweep{.tx = tx, .aside = aside, .report = {}};
  aside.forget_old(tx.now());
  sweep.try_part([&] { sweep_sessions(sweep, request.limit); });
  sweep.try_part([&] { sweep_deadlines(sweep, request.limit); });
  if (request.retention) {
    const RetentionCursor before = cursor;
    sweep.try_part([&] {
      cursor = before;
      sweep_expired(sweep, request.limit, cursor);
    });
  }
  aside.add_to(sweep.report);
  return sweep.report;
}

}  // namespace hapax::store::sqlite
