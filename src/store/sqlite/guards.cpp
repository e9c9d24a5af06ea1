// Guards. Reading a completed guard: 1 SELECT by primary keys, of one table if this process has read the guard before.
// Any other guard: 2 SELECTs, the second in a transaction.
#include "base/plain_path.hpp"
#include "model/labels.hpp"
#include "store/sqlite/claim_order.hpp"
#include "store/sqlite/park.hpp"
#include "store/sqlite/verbs.hpp"

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

// Columns of both tables under one name, live before history: at most one of the two rows exists.
constexpr const char* guard_sql =
    "SELECT i.execution, i.fingerprint, l.id IS NOT NULL, coalesce(l.task, h.task), coalesce(l.identity_key, "
    "h.identity_key),"
    " l.state, h.status, h.result, h.error, coalesce(l.claimed_at, h.started_at, l.created_at, h.created_at), "
    "h.finished_at,"
    " h.expires_at, coalesce(l.fence, h.fence), CASE WHEN l.id IS NULL THEN h.attempt_timeout ELSE l.attempt_timeout "
    "END,"
    " s.expires_at, s.lease, coalesce(s.worker, h.worker), coalesce(l.kind, h.kind)"
    " FROM identities i LEFT JOIN live l ON l.id = i.execution LEFT JOIN sessions s ON s.id = l.session"
    " LEFT JOIN history h ON h.id = i.execution AND l.id IS NULL"
    " WHERE i.identity = ?1 AND i.hold_until IS NULL AND (l.id IS NOT NULL OR (h.stub IS NULL AND h.expires_at > ?2))";
// Reads the columns that almost every look-up needs; no row when the identity is not held. An execution is either live
// or in history. Every column costs time, and every text or blob an allocation.
constexpr const char* outcome_sql =
    "SELECT h.expires_at, h.result, h.started_at, h.finished_at, h.fence, h.status, i.execution, i.fingerprint"
    " FROM identities i LEFT JOIN history h ON h.id = i.execution AND h.stub IS NULL"
    " WHERE i.identity = ?1 AND i.hold_until IS NULL";
// outcome_sql for the execution that held the identity when it was last read, if it still holds it.
constexpr const char* hinted_sql =
    "SELECT expires_at, result, started_at, finished_at, fence FROM history"
    " WHERE id = ?1 AND status = 2 AND superseded = 0 AND stub IS NULL";
static_assert(static_cast<int>(Status::completed) == 2);
constexpr const char* take_over_sql =
    "UPDATE live SET line = ?, session = ?, claim_number = ?, claimed_at = ?, fence = fence + 1, attempt = attempt + 1,"
    " lost = lost + 1, finish_kind = NULL, progress = NULL, progress_message = NULL, attempt_timeout = ?, input = ?"
    " WHERE id = ?";
constexpr const char* identity_of_sql =
    "SELECT identity FROM live WHERE id = ?1 AND kind = 2"
    " UNION ALL SELECT identity FROM history WHERE id = ?1 AND kind = 2 AND expires_at > ?2";
constexpr const char* delete_live_sql = "DELETE FROM live WHERE id = ?";
constexpr const char* delete_history_sql = "DELETE FROM history WHERE id = ?";
constexpr const char* delete_attempts_sql = "DELETE FROM attempts WHERE execution = ?";
constexpr const char* delete_identity_sql = "DELETE FROM identities WHERE identity = ? AND execution = ?";

}  // namespace

std::optional<Guard> guard(ReadTransaction& tx, const base::Digest& identity) {
  Cursor cursor = tx.db().use(guard_sql);
  if (!cursor.bind(identity, tx.now()).next()) { return std::nullopt; }
  const bool live = cursor.flag(2);
  Guard guard;
  guard.id = cursor.uuid(0);
  guard.fingerprint = cursor.optional(1, &Cursor::digest);
  guard.task = cursor.string(3);
  guard.key = cursor.string(4);
  guard.status = !live                  ? static_cast<Status>(cursor.small(6))
                 : cursor.small(5) == 1 ? Status::running
                                        : Status::pending;
  guard.result = cursor.optional(7, &Cursor::string);
  if (!cursor.is_null(8)) { guard.error = decode_error(cursor.text(8)); }
  guard.started_at = cursor.time(9);
  guard.finished_at = cursor.optional(10, &Cursor::time);
  guard.expires_at = cursor.optional(11, &Cursor::time);
  guard.fence = cursor.integer(12);
  guard.takeover_after = cursor.optional(13, &Cursor::duration);
  guard.heartbeat = guard.finished_at.value_or(guard.started_at);
  guard.worker = cursor.string(16);
  guard.now = tx.now();
  if (live) {
    const std::optional<Time> lease_until = cursor.optional(14, &Cursor::time);
    guard.abandoned = is_abandoned(static_cast<Kind>(cursor.small(17)), guard.takeover_after, lease_until, tx.now());
    if (lease_until) { guard.heartbeat = std::max(guard.started_at, *lease_until - cursor.duration(15)); }
  }
  return guard;
}

namespace {

// Reads a completed guard. False when its record has no start time.
bool read_completed(const Cursor& cursor, Time now, Guard& guard) {
  guard.started_at = cursor.time(2);
  if (guard.started_at == Time()) { return false; }
  guard.status = Status::completed;
  guard.expires_at = cursor.time(0);
  guard.result = cursor.text(1);
  guard.finished_at = cursor.time(3);
  guard.heartbeat = *guard.finished_at;
  guard.fence = cursor.integer(4);
  guard.now = now;
  return true;
}

}  // namespace

bool find_outcome(SingleRead& read, GuardHints& hints, const base::Digest& identity, std::optional<Guard>& found) {
  static const bool plain = base::takes_plain_path("sqlite-guard-hints");
  if (const std::optional<GuardHint> hint = plain ? std::nullopt : hints.find(identity)) {
    Cursor cursor = read.db().use(hinted_sql);
    if (cursor.bind(hint->execution).next() && read_completed(cursor, read.now(), found.emplace()) &&
        *found->expires_at > read.now()) {
      found->fingerprint = hint->fingerprint;
      return true;
    }
    found.reset();
  }
  Cursor cursor = read.db().use(outcome_sql);
  if (!cursor.bind(identity).next()) { return true; }
  // NULL reads as 0, which is not Status::completed.
  const bool completed = static_cast<Status>(cursor.small(5)) == Status::completed;
  if (!completed || !read_completed(cursor, read.now(), found.emplace())) {
    found.reset();
    return false;
  }
  if (*found->expires_at <= read.now()) {
    found.reset();
    return true;
  }
  found->fingerprint = cursor.optional(7, &Cursor::digest);
  if (!plain) { hints.put(identity, {.execution = cursor.uuid(6), .fingerprint = found->fingerprint}); }
  return true;
}

bool forget_guard(WriteTransaction& tx, const Uuid& id) {
  std::optional<base::Digest> identity;
  {
    Cursor cursor = tx.db().use(identity_of_sql);
    if (!cursor.bind(id, tx.now()).next()) { return false; }
    identity = cursor.optional(0, &Cursor::digest);
  }
  tx.db().use(delete_live_sql).bind(id).run();
  uncount_running(tx, id);
  tx.db().use(delete_history_sql).bind(id).run();
  tx.db().use(delete_attempts_sql).bind(id).run();
  if (identity) { tx.db().use(delete_identity_sql).bind(*identity, id).run(); }
  return true;
}

std::int64_t take_over(WriteTransaction& tx, const Uuid& id, const NewExecution& by) {
  FoundLive found(tx, id);
  add_attempt(tx, *found, "lost", std::nullopt, found->claimed_at.value_or(tx.now()));
  const std::int64_t fence = found->fence + 1;
  found.close();
  const BornRunning& born = *by.born_running;
  tx.db()
      .use(take_over_sql)
      .bind(claim_order::running(born.session), born.session, born.claim_number, tx.now(), by.attempt_timeout, by.input,
            id)
      .run();
  change_fingerprint(tx, by.identity->hash, by.identity->fingerprint);
  return fence;
}

}  // namespace hapax::store::sqlite
