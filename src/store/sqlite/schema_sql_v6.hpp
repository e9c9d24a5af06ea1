// The SQL of schema version 6: tokens, and the audit's indexes.
#pragma once

namespace hapax::store::sqlite {

inline constexpr const char* schema_v6 = R"sql(
-- A revoked one stays: the audit names it, and a server whose last token is revoked must not open up.
CREATE TABLE tokens(
  id BLOB PRIMARY KEY,
  ns TEXT NOT NULL,
  name TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,           -- SHA-256 of the secret, which is nowhere
  scopes INTEGER NOT NULL,             -- hapax::model::TokenScope, bits
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  expires_at INTEGER,                  -- NULL: never
  revoked_at INTEGER,
  last_used_at INTEGER) WITHOUT ROWID;

CREATE INDEX tokens_ns ON tokens(ns, id);

CREATE INDEX audit_subject ON audit(ns, subject);
CREATE INDEX audit_at ON audit(at);
)sql";

}  // namespace hapax::store::sqlite
