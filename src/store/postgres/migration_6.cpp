// Version 6: tokens, and indexes of the audit.
//
// A build that knows only version 4 or 5 serves no API that tokens guard, and the new indexes also cover the audit
// lines it writes. So it may run beside newer builds.
#include "store/postgres/migrations.hpp"

namespace hapax::store::postgres {

namespace {

// A revoked token stays: the audit names it, and a server whose last token is revoked must not become open to all. The
// hash is the SHA-256 of the secret, which is stored nowhere.
constexpr std::string_view tokens = R"(
CREATE TABLE {s}.tokens (
  id uuid NOT NULL PRIMARY KEY,
  ns text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  hash bytea NOT NULL UNIQUE,
  scopes smallint NOT NULL,
  created_at bigint NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint
) WITH (fillfactor = 80))";

constexpr std::string_view tokens_ns = "CREATE INDEX tokens_ns ON {s}.tokens (ns, id)";

constexpr std::string_view audit_subject = "CREATE INDEX audit_subject ON {s}.audit (ns, subject, id)";
constexpr std::string_view audit_at = "CREATE INDEX audit_at ON {s}.audit (at)";

}  // namespace

std::vector<std::string_view> migration_6() { return {tokens, tokens_ns, audit_subject, audit_at}; }

}  // namespace hapax::store::postgres
