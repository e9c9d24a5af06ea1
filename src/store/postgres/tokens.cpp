// Tokens: a small table. Each verb is 1 round trip.
#include "store/postgres/postgres_store.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

namespace hapax::store::postgres {

namespace {

// Repeated after a lost answer, the statement finds its own row and writes nothing.
constexpr Statement tokens_add{"hapax_token_add", R"(
WITH made AS (
  INSERT INTO {s}.tokens (id, ns, name, hash, scopes, created_at, created_by, expires_at)
  SELECT $2::uuid, $3::text, $4::text, $5::bytea, $6::smallint, t.now, $7::text, t.now + $8::bigint
  FROM (SELECT {now} + $1::bigint AS now) t
  ON CONFLICT (id) DO NOTHING
  RETURNING id, ns, name, hash, scopes, created_at, created_by, expires_at, revoked_at, last_used_at),
noted AS (
  INSERT INTO {s}.audit (ns, at, actor, action, subject, detail)
  SELECT ns, created_at, created_by, 'token.create', id::text, $9::text FROM made)
SELECT * FROM made
UNION ALL
SELECT id, ns, name, hash, scopes, created_at, created_by, expires_at, revoked_at, last_used_at
FROM {s}.tokens WHERE id = $2::uuid)"};

constexpr Statement list_all{"hapax_tokens", R"(
SELECT id, ns, name, hash, scopes, created_at, created_by, expires_at, revoked_at, last_used_at
FROM {s}.tokens WHERE ns = $1::text ORDER BY id)"};

constexpr Statement tokens_find_one{"hapax_token_find", R"(
SELECT id, ns, name, hash, scopes, created_at, created_by, expires_at, revoked_at, last_used_at
FROM {s}.tokens WHERE hash = $1::bytea)"};

constexpr Statement any{"hapax_token_any", "SELECT EXISTS (SELECT FROM {s}.tokens)"};

constexpr Statement revoke{"hapax_token_revoke", R"(
WITH gone AS (
  UPDATE {s}.tokens SET revoked_at = {now} + $1::bigint WHERE id = $2::uuid AND ns = $3::text AND revoked_at IS NULL
  RETURNING ns, id, name, revoked_at),
noted AS (
  INSERT INTO {s}.audit (ns, at, actor, action, subject, detail)
  SELECT ns, revoked_at, $4::text, 'token.revoke', id::text, name FROM gone)
SELECT count(*) FROM gone)"};

// Rows that another server is touching count as fresh.
constexpr Statement touch{"hapax_token_touch", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
stale AS MATERIALIZED (
  SELECT id FROM {s}.tokens, t
  WHERE id = ANY ($2::uuid[]) AND (last_used_at IS NULL OR last_used_at <= t.now - $3::bigint)
  FOR UPDATE OF tokens SKIP LOCKED)
UPDATE {s}.tokens SET last_used_at = (SELECT now FROM t) WHERE id IN (SELECT id FROM stale))"};

Token read_token(const Result& result, int row) {
  RowReader reader(result, row);
  Token token;
  token.id = reader.uuid();
  token.namespace_name = reader.bytes();
  token.name = reader.bytes();
  token.hash = reader.digest();
  token.scopes = Scopes(static_cast<std::uint8_t>(reader.int2()));
  token.created_at = reader.time();
  token.created_by = reader.bytes();
  token.expires_at = reader.optional_time();
  token.revoked_at = reader.optional_time();
  token.last_used_at = reader.optional_time();
  return token;
}

}  // namespace

Token PostgresStore::add_token(const NewToken& token, const Actor& by) {
  return run([&](Connection& connection) {
    Params params;
    params.int8(offset_us()).uuid(token.id).text(token.namespace_name).text(token.name).digest(token.hash);
    params.int2(token.scopes.bits()).text(base::escape_invalid(by.name));
    token.expires_in ? params.int8(token.expires_in->count()) : params.null(Type::int8);
    params.text(describe(token));
    const Result result = connection.query(tokens_add, params);
    if (result.rows() == 0) {
      throw StoreBusy("token " + token.id.to_string() + " is being created by another process; try again");
    }
    return read_token(result, 0);
  });
}

std::vector<Token> PostgresStore::tokens(std::string_view namespace_name) {
  return read([&](Connection& connection) {
    const Result result = connection.query(list_all, Params().text(namespace_name));
    std::vector<Token> some;
    for (int row = 0; row < result.rows(); ++row) { some.push_back(read_token(result, row)); }
    return some;
  });
}

std::optional<Token> PostgresStore::find_token(const base::Digest& hash) {
  return read([&](Connection& connection) {
    const Result result = connection.query(tokens_find_one, Params().digest(hash));
    return result.rows() == 0 ? std::nullopt : std::optional(read_token(result, 0));
  });
}

bool PostgresStore::has_tokens() {
  return read([&](Connection& connection) { return RowReader(connection.query(any, Params()), 0).boolean(); });
}

// A call that is repeated after a lost answer may report that the token was already revoked.
bool PostgresStore::revoke_token(std::string_view namespace_name, const Uuid& id, const Actor& by) {
  return run([&](Connection& connection) {
    Params params;
    params.int8(offset_us()).uuid(id).text(namespace_name).text(base::escape_invalid(by.name));
    return RowReader(connection.query(revoke, params), 0).int8() > 0;
  });
}

void PostgresStore::touch_tokens(std::span<const Uuid> ids) {
  if (ids.empty()) { return; }
  run([&](Connection& connection) {
    Params params;
    params.int8(offset_us()).array(uuid_array(ids)).int8(token_touch_every.count());
    connection.query(touch, params);
  });
}

}  // namespace hapax::store::postgres
