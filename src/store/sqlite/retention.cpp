// The end of retention. A walk over history reads the stretches that the table `expiries` names (retention.hpp). A
// sweep that finds nothing expired costs 1 SELECT, and 4 DELETEs without rows.
#include "store/sqlite/events.hpp"
#include "store/sqlite/sweep.hpp"

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

// How many history rows one sweep reads for each that it may delete: reading rows that stay is bounded too.
constexpr int walk_factor = 5;
constexpr Duration stats_kept = std::chrono::hours(1);

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

constexpr const char* note_expiry_sql = "INSERT OR IGNORE INTO expiries(expiry_hour, id_hour) VALUES (?, ?)";

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

}  // namespace

void ExpiryNotes::add(const Uuid& id, Time expires_at) {
  const std::pair<std::int64_t, std::int64_t> place(expiry_hour(expires_at), id_hour(id));
  if (std::find(pairs_.rbegin(), pairs_.rend(), place) == pairs_.rend()) { pairs_.push_back(place); }
}

void ExpiryNotes::write(Connection& db) {
  for (const auto& [expiry, id] : pairs_) { db.use(note_expiry_sql).bind(expiry, id).run(); }
  pairs_.clear();
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

}  // namespace hapax::store::sqlite
