// Identities and their present holders.
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* identity_sql =
    "SELECT execution, run, fingerprint, created_at, hold_for, hold_until, ended_as, ended_at FROM identities"
    " WHERE identity = ?";
constexpr const char* name_owner_sql = "SELECT identity FROM identities INDEXED BY identities_name WHERE name = ?";
constexpr const char* live_sql =
    "SELECT state, fence, run, created_at, kind, attempt_timeout, session FROM live WHERE id = ?";
constexpr const char* lease_sql = "SELECT expires_at FROM sessions WHERE id = ?";
constexpr const char* history_sql =
    "SELECT status, run, created_at, finished_at, expires_at, stub, result FROM history WHERE id = ?";
constexpr const char* hold_sql =
    "INSERT INTO identities(identity, execution, run, fingerprint, created_at, hold_for, name)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT(identity) DO UPDATE SET execution = excluded.execution, run = excluded.run,"
    " fingerprint = excluded.fingerprint, created_at = excluded.created_at, hold_for = excluded.hold_for,"
    " hold_until = NULL, ended_as = NULL, ended_at = NULL, name = coalesce(excluded.name, name)";
constexpr const char* fingerprint_sql = "UPDATE identities SET fingerprint = ? WHERE identity = ?";
constexpr const char* superseded_sql = "UPDATE history SET superseded = 1 WHERE id = ?";
constexpr const char* live_superseded_sql = "UPDATE live SET superseded = 1 WHERE id = ?";
constexpr const char* overtaken_sql = "INSERT OR IGNORE INTO overtaken(identity, execution) VALUES (?, ?)";
constexpr const char* tombstone_sql =
    "UPDATE identities SET hold_until = ?, ended_as = ?, ended_at = ?, queue_id = ? WHERE identity = ?";

constexpr const char* expired_record_sql =
    "SELECT 1 FROM history h JOIN queues q ON q.id = h.queue_id WHERE h.id = ?1 AND q.ns = ?2 AND h.expires_at <= ?3";
constexpr const char* buried_sql =
    "SELECT 1 FROM identities i INDEXED BY identities_buried JOIN queues q ON q.id = i.queue_id"
    " WHERE i.execution = ?1 AND q.ns = ?2 AND i.hold_until IS NOT NULL AND i.hold_until > ?3";
constexpr const char* identities_delete_sql = "DELETE FROM identities WHERE identity = ?";
constexpr const char* delete_tombstones_sql =
    "DELETE FROM identities WHERE identity IN (SELECT identity FROM identities INDEXED BY identities_hold_until"
    " WHERE hold_until IS NOT NULL AND hold_until <= ? LIMIT ?)";

// 1 SELECT; for a guard 1 more, for its session.
std::optional<LiveHolder> find_live(Connection& db, const Uuid& id, Time now) {
  Cursor cursor = db.use(live_sql);
  if (!cursor.bind(id).next()) { return std::nullopt; }
  LiveHolder holder{.status = cursor.small(0) == 1 ? Status::running : Status::pending,
                    .fence = cursor.integer(1),
                    .run = cursor.small(2),
                    .created_at = cursor.time(3)};
  const auto kind = static_cast<Kind>(cursor.small(4));
  if (kind != Kind::guard) { return holder; }
  Cursor lease = db.use(lease_sql);
  const Uuid session = cursor.uuid(6);
  const std::optional<Time> until = lease.bind(session).next() ? std::optional(lease.time(0)) : std::nullopt;
  holder.abandoned = is_abandoned(kind, cursor.optional(5, &Cursor::duration), until, now);
  return holder;
}

std::optional<EndedHolder> find_ended(Connection& db, const Uuid& id) {
  Cursor cursor = db.use(history_sql);
  if (!cursor.bind(id).next()) { return std::nullopt; }
  return EndedHolder{.status = static_cast<Status>(cursor.small(0)),
                     .run = cursor.small(1),
                     .created_at = cursor.time(2),
                     .finished_at = cursor.time(3),
                     .expires_at = cursor.time(4),
                     .stub = cursor.flag(5),
                     .result = cursor.optional(6, &Cursor::string)};
}

std::optional<Holding> find_holding(Connection& db, const IdentityRow& row, Time now) {
  if (row.hold_until) { return holding_of(row, std::nullopt, std::nullopt, now); }
  const std::optional<LiveHolder> live = find_live(db, row.execution, now);
  return holding_of(row, live, live ? std::nullopt : find_ended(db, row.execution), now);
}

}  // namespace

std::optional<IdentityRow> find_identity(Connection& db, const base::Digest& identity) {
  Cursor cursor = db.use(identity_sql);
  if (!cursor.bind(identity).next()) { return std::nullopt; }
  IdentityRow row;
  row.execution = cursor.uuid(0);
  row.run = cursor.small(1);
  row.fingerprint = cursor.optional(2, &Cursor::digest);
  row.created_at = cursor.time(3);
  row.hold_for = cursor.optional(4, &Cursor::duration);
  row.hold_until = cursor.optional(5, &Cursor::time);
  if (!cursor.is_null(6)) { row.ended_as = static_cast<Status>(cursor.small(6)); }
  row.ended_at = cursor.optional(7, &Cursor::time);
  return row;
}

std::optional<Holder> find_holder(Connection& db, const IdentityRow& row, Time now) {
  std::optional<Holding> found = find_holding(db, row, now);
  return found ? std::optional(std::move(found->holder)) : std::nullopt;
}

std::optional<Holding> find_holding(Connection& db, const base::Digest& identity, Time now) {
  const std::optional<IdentityRow> row = find_identity(db, identity);
  return row ? find_holding(db, *row, now) : std::nullopt;
}

void hold_identity(WriteTransaction& tx, const base::Digest& identity, const Uuid& execution, const IdentityRow& row) {
  tx.db().use(hold_sql).bind(identity, execution, row.run, row.fingerprint, tx.now(), row.hold_for, row.name).run();
}

std::optional<base::Digest> name_owner(WriteTransaction& tx, const base::Digest& name) {
  Cursor cursor = tx.db().use(name_owner_sql);
  return cursor.bind(name).next() ? std::optional(cursor.digest(0)) : std::nullopt;
}

void unhold_identity(WriteTransaction& tx, const base::Digest& identity) {
  tx.db().use(identities_delete_sql).bind(identity).run();
}

void change_fingerprint(WriteTransaction& tx, const base::Digest& identity,
                        const std::optional<base::Digest>& fingerprint) {
  tx.db().use(fingerprint_sql).bind(fingerprint, identity).run();
}

void mark_superseded(WriteTransaction& tx, const base::Digest& identity, const Holder& holder) {
  if (holder.expired) { return; }
  if (is_terminal(holder.status)) {
    tx.db().use(superseded_sql).bind(holder.id).run();
    return;
  }
  tx.db().use(live_superseded_sql).bind(holder.id).run();
  tx.db().use(overtaken_sql).bind(identity, holder.id).run();
}

bool has_expired(ReadTransaction& tx, std::string_view namespace_name, const Uuid& id) {
  if (tx.db().use(expired_record_sql).bind(id, namespace_name, tx.now()).next()) { return true; }
  return tx.db().use(buried_sql).bind(id, namespace_name, tx.now()).next();
}

void release_identity(WriteTransaction& tx, const base::Digest& identity, const Released& released) {
  const std::optional<IdentityRow> row = find_identity(tx.db(), identity);
  if (!row || row->execution != released.execution) { return; }
  if (const std::optional<Time> until = tombstone_until(row->hold_for, released.ended_at, tx.now())) {
    tx.db()
        .use(tombstone_sql)
        .bind(*until, static_cast<int>(released.ended_as), released.ended_at, released.queue_id, identity)
        .run();
  } else {
    tx.db().use(identities_delete_sql).bind(identity).run();
  }
}

int sweep_tombstones(WriteTransaction& tx, int limit) {
  tx.db().use(delete_tombstones_sql).bind(tx.now(), limit).run();
  return tx.db().changes();
}

}  // namespace hapax::store::sqlite
