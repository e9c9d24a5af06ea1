// Identities: who holds one now.
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* identity_sql = "SELECT execution, fingerprint FROM identities WHERE identity = ?";
constexpr const char* live_sql = "SELECT state, run, created_at FROM live WHERE id = ?";
constexpr const char* history_sql =
    "SELECT status, run, created_at, finished_at, result FROM history WHERE id = ? AND expires_at > ?";
constexpr const char* hold_sql =
    "INSERT INTO identities(identity, execution, run, fingerprint, created_at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT(identity) DO UPDATE SET execution = excluded.execution, run = excluded.run,"
    " fingerprint = excluded.fingerprint, created_at = excluded.created_at, hold_until = NULL";
constexpr const char* superseded_sql = "UPDATE history SET superseded = 1 WHERE id = ?";

}  // namespace

std::optional<Holder> find_holder(Connection& db, const base::Digest& identity, Time now) {
  Holder holder;
  {
    Cursor cursor = db.use(identity_sql);
    if (!cursor.bind(identity).next()) { return std::nullopt; }
    holder.id = cursor.uuid(0);
    holder.fingerprint = cursor.optional(1, &Cursor::digest);
  }
  {
    Cursor cursor = db.use(live_sql);
    if (cursor.bind(holder.id).next()) {
      holder.status = cursor.small(0) == 1 ? Status::running : Status::pending;
      holder.run = cursor.small(1);
      holder.created_at = cursor.time(2);
      return holder;
    }
  }
  Cursor cursor = db.use(history_sql);
  if (!cursor.bind(holder.id, now).next()) { return std::nullopt; }
  holder.status = static_cast<Status>(cursor.small(0));
  holder.run = cursor.small(1);
  holder.created_at = cursor.time(2);
  holder.finished_at = cursor.time(3);
  holder.result = cursor.optional(4, &Cursor::string);
  return holder;
}

void hold_identity(WriteTransaction& tx, const base::Digest& identity, const Uuid& execution, int run,
                   const std::optional<base::Digest>& fingerprint) {
  tx.db().use(hold_sql).bind(identity, execution, run, fingerprint, tx.now()).run();
}

void mark_superseded(WriteTransaction& tx, const Uuid& id) { tx.db().use(superseded_sql).bind(id).run(); }

}  // namespace hapax::store::sqlite
