// The sweep: lost sessions, passed deadlines, retention, each bounded by the request's limit. A sweep that finds
// nothing costs 2 SELECTs and an UPDATE without rows (with retention 1 SELECT more, and 4 DELETEs without rows) and no
// fdatasync.
//
// Each row is swept behind a savepoint of its own: an error is undone and reported, and the other rows go on. Each of
// the three parts is also behind a savepoint, for its statements that concern no single row. Errors of the disk and of
// locks end the sweep.
#include "model/labels.hpp"
#include "store/sqlite/events.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/savepoint.hpp"
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

// How many history rows one sweep reads for each that it may delete: reading rows that stay is bounded too.
constexpr int walk_factor = 5;
constexpr Duration stats_kept = std::chrono::hours(1);

constexpr const char* far_sessions_sql = "UPDATE sessions SET expires_at = ?1 + lease WHERE expires_at > ?1 + lease";
constexpr const char* lost_sessions_sql = "SELECT id FROM sessions WHERE expires_at <= ? ORDER BY id";
constexpr const char* forget_session_sql = "DELETE FROM sessions WHERE id = ?";
constexpr const char* deadlines_sql =
    "SELECT id FROM live INDEXED BY live_deadline WHERE deadline IS NOT NULL AND deadline <= ? ORDER BY deadline, id "
    "LIMIT ?";
constexpr const char* next_stretch_sql =
    "SELECT expiry_hour, id_hour FROM expiries WHERE expiry_hour <= ?1 AND (expiry_hour, id_hour) > (?2, ?3)"
    " ORDER BY expiry_hour, id_hour LIMIT 1";
constexpr const char* walk_sql =
    "SELECT id, expires_at, identity, status, finished_at, kind, queue_id FROM history WHERE id > ? AND id <= ? ORDER "
    "BY id "
    "LIMIT ?";
constexpr const char* stretch_done_sql = "DELETE FROM expiries WHERE expiry_hour = ? AND id_hour = ?";
constexpr const char* sweep_delete_history_sql = "DELETE FROM history WHERE id = ?";
constexpr const char* sweep_delete_attempts_sql = "DELETE FROM attempts WHERE execution = ?";
constexpr const char* delete_journal_sql = "DELETE FROM journal WHERE execution = ?";
constexpr const char* delete_stats_sql = "DELETE FROM queue_stats WHERE second < ?";

// One sweep: its transaction, the rows that this sweep and earlier ones set aside, and its report.
struct Sweep {
  WriteTransaction& tx;
  SetAside& aside;
  SweepReport report;

  // True when `work` was done; otherwise the row is as before and set aside.
  template <class Work>
  bool try_on(const Uuid& row, Work work) {
    const SweepReport before = report;
    const std::optional<std::string> trouble = try_apart(tx.db(), work);
    if (!trouble) { return true; }
    report = before;
    aside.add(row, tx.now(), *trouble);
    return false;
  }

  // The same for a part as a whole, which is then reported as failed.
  template <class Work>
  void try_part(Work work) {
    const SweepReport before = report;
    const std::optional<std::string> trouble = try_apart(tx.db(), work);
    if (!trouble) { return; }
    report = before;
    report.failure = base::keep_head(*trouble, limits::sweep_error_bytes);
  }

  // pick() takes at most `limit` of the rows that a statement found, without those set aside. `all`: no row was left
  // behind because of the limit.
  struct Rows {
    std::vector<Uuid> ids;
    bool all = true;
    bool left = false;  // some rows are set aside
  };
  [[nodiscard]] Rows pick(const std::vector<Uuid>& found, int limit) const {
    Rows rows;
    for (const Uuid& id : found) {
      if (aside.contains(id)) {
        rows.left = true;
      } else if (std::ssize(rows.ids) == limit) {
        rows.all = false;
        break;
      } else {
        rows.ids.push_back(id);
      }
    }
    return rows;
  }
  // How many rows a statement must find for pick() to know whether there are more.
  [[nodiscard]] int look(int limit) const { return limit + 1 + aside.size(); }
};

std::vector<Uuid> read_ids(Cursor& cursor) {
  std::vector<Uuid> ids;
  while (cursor.next()) { ids.push_back(cursor.uuid(0)); }
  return ids;
}

// The execution's worker is lost: the execution becomes pending again, unless it was lost max_lost times.
void lose(WriteTransaction& tx, const Uuid& id, SweepReport& report) {
  FoundLive found(tx, id);
  if (!found) { return; }
  add_attempt(tx, *found, "lost", std::nullopt, found->claimed_at.value_or(tx.now()));
  const int lost = found->lost + 1;
  const bool ends = found->to_be_cancelled() || lost >= found->max_lost;
  if (!ends) {
    Waiting waiting = waiting_like(*found, found->run_at, found->attempt);
    waiting.lost = lost;
    found.done();
    wait_again(tx, id, waiting);
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
  end_by_others(tx, found, ending);
}

// A session with a row that was set aside stays until that row is mended; its other rows are lost with it now.
void sweep_sessions(Sweep& sweep, int limit) {
  WriteTransaction& tx = sweep.tx;
  // Shortens leases that the clock, set back, has made longer.
  tx.db().use(far_sessions_sql).bind(tx.now()).run();
  std::vector<Uuid> lost;
  {
    Cursor cursor = tx.db().use(lost_sessions_sql);
    lost = read_ids(cursor.bind(tx.now()));
  }
  int budget = limit;
  for (const Uuid& session : lost) {
    Sweep::Rows running = sweep.pick(claimed_by(tx.db(), session, sweep.look(budget)), budget);
    for (const Uuid& id : running.ids) {
      if (!sweep.try_on(id, [&] { lose(tx, id, sweep.report); })) { running.left = true; }
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
  if (!found) { return; }  // it ended together with another row of this sweep
  end_by_others(tx, found,
                {.status = Status::timed_out,
                 .error = encode_error(
                     {.type = "DeadlineExceeded", .message = "the execution's deadline has passed", .detail = ""}),
                 .started_at = found->session ? found->claimed_at : std::nullopt});
  report.timed_out += 1;
}

void sweep_deadlines(Sweep& sweep, int limit) {
  WriteTransaction& tx = sweep.tx;
  std::vector<Uuid> found;
  {
    Cursor cursor = tx.db().use(deadlines_sql);
    found = read_ids(cursor.bind(tx.now(), sweep.look(limit)));
  }
  const Sweep::Rows passed = sweep.pick(found, limit);
  for (const Uuid& id : passed.ids) {
    (void)sweep.try_on(id, [&] { time_out(tx, id, sweep.report); });
  }
  if (!passed.all) { sweep.report.more = true; }
}

struct Expired {
  Uuid id;
  std::optional<base::Digest> identity;
  Status status = Status::completed;
  Time finished_at{};
  Kind kind = Kind::task;
  std::int64_t queue_id = 0;
};

void forget(WriteTransaction& tx, const Expired& expired) {
  tx.db().use(sweep_delete_attempts_sql).bind(expired.id).run();
  tx.db().use(delete_journal_sql).bind(expired.id).run();
  if (expired.kind == Kind::workflow) { forget_events(tx, expired.id); }
  if (expired.identity) {
    release_identity(tx, *expired.identity,
                     {.execution = expired.id,
                      .queue_id = expired.queue_id,
                      .ended_as = expired.status,
                      .ended_at = expired.finished_at});
  }
  tx.db().use(sweep_delete_history_sql).bind(expired.id).run();
}

// Moves the cursor to the next stretch of history in which a record has expired; false when there is none.
bool next_stretch(WriteTransaction& tx, RetentionCursor& at) {
  Cursor cursor = tx.db().use(next_stretch_sql);
  cursor.bind(expiry_hour(tx.now()), at.expiry_hour, at.id_hour);
  if (!cursor.next()) {
    at = {};
    return false;
  }
  at = {.expiry_hour = cursor.integer(0),
        .id_hour = cursor.integer(1),
        .after = last_id_before_hour(cursor.integer(1)),
        .since = tx.now(),
        .active = true};
  return true;
}

// Continues the walk over the stretch from the cursor. A stretch whose expiry hour is not over, or with a row that was
// set aside, is kept for later sweeps.
void walk(Sweep& sweep, RetentionCursor& at, int& may_look, int& may_delete) {
  WriteTransaction& tx = sweep.tx;
  std::vector<Expired> expired;
  bool at_end = true;
  {
    Cursor cursor = tx.db().use(walk_sql);
    const Uuid end = last_id_before_hour(at.id_hour + 1);
    const Uuid from = at.after;  // the cursor moves on while the statement runs
    cursor.bind(from, end, may_look + 1);
    while (cursor.next()) {
      if (may_look == 0 || may_delete == 0) {
        at_end = false;
        break;
      }
      at.after = cursor.uuid(0);
      may_look -= 1;
      if (cursor.time(1) > tx.now()) { continue; }
      if (sweep.aside.contains(at.after)) {
        at.left = true;
        continue;
      }
      expired.push_back({.id = at.after,
                         .identity = cursor.optional(2, &Cursor::digest),
                         .status = static_cast<Status>(cursor.small(3)),
                         .finished_at = cursor.time(4),
                         .kind = static_cast<Kind>(cursor.small(5)),
                         .queue_id = cursor.integer(6)});
      may_delete -= 1;
    }
  }
  for (const Expired& one : expired) {
    if (sweep.try_on(one.id, [&] { forget(tx, one); })) {
      sweep.report.expired += 1;
    } else {
      at.left = true;
    }
  }
  if (at_end) {
    at.active = false;
    // A row that was passed early in the walk may have expired since, unless the hour was over when the walk began.
    if (at.expiry_hour < expiry_hour(at.since) && !at.left) {
      tx.db().use(stretch_done_sql).bind(at.expiry_hour, at.id_hour).run();
    }
  }
}

void sweep_expired(Sweep& sweep, int limit, RetentionCursor& at) {
  WriteTransaction& tx = sweep.tx;
  int may_look = limit * walk_factor;
  int may_delete = limit;
  while (at.active || next_stretch(tx, at)) {
    if (may_look == 0 || may_delete == 0) {
      sweep.report.more = true;
      return;
    }
    walk(sweep, at, may_look, may_delete);
  }
  const auto kept_from = std::chrono::floor<std::chrono::seconds>(tx.now() - stats_kept);
  tx.db().use(delete_stats_sql).bind(kept_from.time_since_epoch().count()).run();
  sweep_key_rates(tx);
  if (sweep_tombstones(tx, limit) >= limit) { sweep.report.more = true; }
  if (sweep_audit(tx, limit) >= limit) { sweep.report.more = true; }
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
  aside.tell(sweep.report);
  return sweep.report;
}

}  // namespace hapax::store::sqlite
