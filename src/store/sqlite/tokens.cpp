// Tokens: a small table. A new or revoked token costs 1 SELECT or UPDATE and 2 INSERTs at most; a read 1 SELECT; a
// touch 1 UPDATE per token, and no fdatasync when no token is written.
#include "base/text.hpp"
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

#define HAPAX_TOKEN_COLUMNS "id, ns, name, hash, scopes, created_at, created_by, expires_at, revoked_at, last_used_at"

constexpr const char* add_sql =
    "INSERT INTO tokens(id, ns, name, hash, scopes, created_at, created_by, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, "
    "?)";
constexpr const char* tokens_by_id_sql = "SELECT " HAPAX_TOKEN_COLUMNS " FROM tokens WHERE id = ?";
constexpr const char* by_hash_sql = "SELECT " HAPAX_TOKEN_COLUMNS " FROM tokens WHERE hash = ?";
constexpr const char* tokens_list_sql = "SELECT " HAPAX_TOKEN_COLUMNS " FROM tokens WHERE ns = ? ORDER BY id";
constexpr const char* any_sql = "SELECT 1 FROM tokens LIMIT 1";
constexpr const char* revoke_sql = "UPDATE tokens SET revoked_at = ? WHERE id = ? AND ns = ? AND revoked_at IS NULL";
constexpr const char* touch_sql =
    "UPDATE tokens SET last_used_at = ?1 WHERE id = ?2 AND (last_used_at IS NULL OR last_used_at <= ?3)";

#undef HAPAX_TOKEN_COLUMNS

Token read_token(const Cursor& cursor) {
  return {.id = cursor.uuid(0),
          .namespace_name = cursor.string(1),
          .name = cursor.string(2),
          .hash = cursor.digest(3),
          .scopes = Scopes(static_cast<std::uint8_t>(cursor.small(4))),
          .created_at = cursor.time(5),
          .created_by = cursor.string(6),
          .expires_at = cursor.optional(7, &Cursor::time),
          .revoked_at = cursor.optional(8, &Cursor::time),
          .last_used_at = cursor.optional(9, &Cursor::time)};
}

std::optional<Token> find_by_id(Connection& db, const Uuid& id) {
  Cursor cursor = db.use(tokens_by_id_sql);
  return cursor.bind(id).next() ? std::optional(read_token(cursor)) : std::nullopt;
}

}  // namespace

Token add_token(WriteTransaction& tx, const NewToken& token, const Actor& by) {
  if (std::optional<Token> there = find_by_id(tx.db(), token.id)) { return *std::move(there); }
  std::optional<Time> expires_at;
  if (token.expires_in) { expires_at = tx.now() + *token.expires_in; }
  tx.db()
      .use(add_sql)
      .bind(token.id, token.namespace_name, token.name, token.hash, token.scopes.bits(), tx.now(), by.name, expires_at)
      .run();
  write_audit(tx, {.namespace_name = token.namespace_name,
                   .actor = by.name,
                   .action = "token.create",
                   .subject = token.id.to_string(),
                   .detail = describe(token)});
  return find_by_id(tx.db(), token.id).value();
}

std::vector<Token> tokens(ReadTransaction& tx, std::string_view namespace_name) {
  std::vector<Token> some;
  Cursor cursor = tx.db().use(tokens_list_sql);
  cursor.bind(namespace_name);
  while (cursor.next()) { some.push_back(read_token(cursor)); }
  return some;
}

std::optional<Token> find_token(ReadTransaction& tx, const base::Digest& hash) {
  Cursor cursor = tx.db().use(by_hash_sql);
  return cursor.bind(hash).next() ? std::optional(read_token(cursor)) : std::nullopt;
}

bool has_tokens(ReadTransaction& tx) {
  Cursor cursor = tx.db().use(any_sql);
  return cursor.next();
}

bool revoke_token(WriteTransaction& tx, std::string_view namespace_name, const Uuid& id, const Actor& by) {
  tx.db().use(revoke_sql).bind(tx.now(), id, namespace_name).run();
  if (tx.db().changes() == 0) { return false; }
  write_audit(tx, {.namespace_name = std::string(namespace_name),
                   .actor = by.name,
                   .action = "token.revoke",
                   .subject = id.to_string(),
                   .detail = find_by_id(tx.db(), id).value().name});
  return true;
}

bool touch_token(WriteTransaction& tx, const Uuid& id) {
  tx.db().use(touch_sql).bind(tx.now(), id, tx.now() - token_touch_every).run();
  return tx.db().changes() > 0;
}

}  // namespace hapax::store::sqlite
