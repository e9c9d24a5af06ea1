// The sweep: lost sessions, passed deadlines, retention, each bounded by the request's limit. With nothing to do it
// costs 2 SELECTs and an UPDATE that finds nothing (with retention 1 more, and 4 DELETEs that find nothing) and no fdatasync.
#include "model/labels.hpp"
#include "store/sqlite/events.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

// History rows one sweep looks at for each it may delete: walking over those that stay is bounded too.
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
constexpr const char* delete_history_sql = "DELETE FROM history WHERE id = ?";
constexpr const char* delete_attempts_sql = "DELETE FROM attempts WHERE execution = ?";
constexpr const char* delete_journal_sql = "DELETE FROM journal WHERE execution = ?";
constexpr const char* delete_stats_sql = "DELETE FROM queue_stats WHERE second < ?";

std::vector<Uuid> read_ids(Cursor& cursor) {
  std::vector<Uuid> ids;
  while (cursor.next()) { ids.push_back(cursor.uuid(0)); }
  return ids;
}

// The worker is gone: the execution waits for another, unless it has taken too many with it.
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

void sweep_sessions(WriteTransaction& tx, int limit, SweepReport& report) {
  // The clock was set back: their leases are no longer for that.
  tx.db().use(far_sessions_sql).bind(tx.now()).run();
  std::vector<Uuid> lost;
  {
    Cursor cursor = tx.db().use(lost_sessions_sql);
    lost = read_ids(cursor.bind(tx.now()));
  }
  int budget = limit;
  for (const Uuid& session : lost) {
    const std::vector<Uuid> running = claimed_by(tx.db(), session, budget + 1);
    const bool all = std::ssize(running) <= budget;
    for (const Uuid& id : running) {
      if (budget == 0) { break; }
      lose(tx, id, report);
      budget -= 1;
    }
    if (!all) {
      report.more = true;
      return;
    }
    tx.db().use(forget_session_sql).bind(session).run();
    report.lost_sessions += 1;
  }
}

void sweep_deadlines(WriteTransaction& tx, int limit, SweepReport& report) {
  std::vector<Uuid> passed;
  {
    Cursor cursor = tx.db().use(deadlines_sql);
    passed = read_ids(cursor.bind(tx.now(), limit + 1));
  }
  if (std::ssize(passed) > limit) {
    passed.pop_back();
    report.more = true;
  }
  for (const Uuid& id : passed) {
    FoundLive found(tx, id);
    end_by_others(tx, found,
                  {.status = Status::timed_out,
                   .error = encode_error(
                       {.type = "DeadlineExceeded", .message = "the execution's deadline has passed", .detail = ""}),
                   .started_at = found->session ? found->claimed_at : std::nullopt});
    report.timed_out += 1;
  }
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
  tx.db().use(delete_attempts_sql).bind(expired.id).run();
  tx.db().use(delete_journal_sql).bind(expired.id).run();
  if (expired.kind == Kind::workflow) { forget_events(tx, expired.id); }
  if (expired.identity) {
    release_identity(tx, *expired.identity,
                     {.execution = expired.id,
                      .queue_id = expired.queue_id,
                      .ended_as = expired.status,
                      .ended_at = expired.finished_at});
  }
  tx.db().use(delete_history_sql).bind(expired.id).run();
}

// Moves the cursor to the next stretch of history in which something has expired; false when there is none.
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

// Walks the stretch on from the cursor. A stretch whose hour is not over yet is kept for later sweeps.
void walk(WriteTransaction& tx, RetentionCursor& at, int& may_look, int& may_delete, SweepReport& report) {
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
      if (cursor.time(1) <= tx.now()) {
        expired.push_back({.id = at.after,
                           .identity = cursor.optional(2, &Cursor::digest),
                           .status = static_cast<Status>(cursor.small(3)),
                           .finished_at = cursor.time(4),
                           .kind = static_cast<Kind>(cursor.small(5)),
                           .queue_id = cursor.integer(6)});
        may_delete -= 1;
      }
    }
  }
  for (const Expired& one : expired) { forget(tx, one); }
  report.expired += static_cast<int>(expired.size());
  if (at_end) {
    at.active = false;
    // What it passed early in the walk may have expired since, unless the hour was over then.
    if (at.expiry_hour < expiry_hour(at.since)) {
      tx.db().use(stretch_done_sql).bind(at.expiry_hour, at.id_hour).run();
    }
  }
}

void sweep_expired(WriteTransaction& tx, int limit, RetentionCursor& at, SweepReport& report) {
  int may_look = limit * walk_factor;
  int may_delete = limit;
  while (at.active || next_stretch(tx, at)) {
    if (may_look == 0 || may_delete == 0) {
      report.more = true;
      return;
    }
    walk(tx, at, may_look, may_delete, report);
  }
  const auto kept_from = std::chrono::floor<std::chrono::seconds>(tx.now() - stats_kept);
  tx.db().use(delete_stats_sql).bind(kept_from.time_since_epoch().count()).run();
  sweep_key_rates(tx);
  if (sweep_tombstones(tx, limit) >= limit) { report.more = true; }
  if (sweep_audit(tx, limit) >= limit) { report.more = true; }
}

}  // namespace

SweepReport sweep(WriteTransaction& tx, const SweepRequest& request, RetentionCursor& cursor) {
  SweepReport report;
  sweep_sessions(tx, request.limit, report);
  sweep_deadlines(tx, request.limit, report);
  if (request.retention) { sweep_expired(tx, request.limit, cursor, report); }
  return report;
}

}  // namespace hapax::store::sqlite
