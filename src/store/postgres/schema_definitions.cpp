// The tables of what users define and of who did what: tasks, settings, activities, tokens, the audit.
#include "store/postgres/schema.hpp"

namespace hapax::store::postgres {

namespace {

constexpr std::string_view tasks_table = R"(
CREATE TABLE {s}.tasks (
  ns text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  definition text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (ns, name)
))";

constexpr std::string_view settings_table = R"(
CREATE TABLE {s}.settings (
  ns text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  PRIMARY KEY (ns, name)
))";

// Raised by each change of a namespace's tasks and settings, by any build. An admission compares it with the version
// that its request was made by. Rows are never deleted.
constexpr std::string_view catalogue_versions_table = R"(
CREATE TABLE {s}.catalogue_versions (
  ns text COLLATE "C" NOT NULL PRIMARY KEY,
  version int NOT NULL
) WITH (fillfactor = 50))";

constexpr std::string_view raise_catalogue_version = R"(
CREATE FUNCTION {s}.raise_catalogue_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO {s}.catalogue_versions AS v (ns, version)
  VALUES (CASE TG_OP WHEN 'DELETE' THEN OLD.ns ELSE NEW.ns END, 1)
  ON CONFLICT (ns) DO UPDATE SET version = v.version + 1;
  RETURN NULL;
END $$)";

constexpr std::string_view tasks_changed = R"(
CREATE TRIGGER tasks_changed AFTER INSERT OR UPDATE OR DELETE ON {s}.tasks
FOR EACH ROW EXECUTE FUNCTION {s}.raise_catalogue_version())";

constexpr std::string_view settings_changed = R"(
CREATE TRIGGER settings_changed AFTER INSERT OR UPDATE OR DELETE ON {s}.settings
FOR EACH ROW EXECUTE FUNCTION {s}.raise_catalogue_version())";

constexpr std::string_view audit_table = R"(
CREATE TABLE {s}.audit (
  ns text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  at bigint NOT NULL,
  actor text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  detail text COLLATE "C" NOT NULL,
  PRIMARY KEY (ns, id)
))";

constexpr std::string_view audit_subject = "CREATE INDEX audit_subject ON {s}.audit (ns, subject, id)";

constexpr std::string_view audit_at = "CREATE INDEX audit_at ON {s}.audit (at)";

// A revoked token stays: the audit names it, and a server whose last token is revoked must not become open to all. The
// hash is the SHA-256 of the secret, which is stored nowhere.
constexpr std::string_view tokens_table = R"(
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

// The row of a removed activity stays, so that an activity created again continues its revisions, versions and counts.
// next_due is set only for activities that the ticker must look at. Each tick updates one row, so pages keep free space
// and vacuum starts early.
constexpr std::string_view activities_table = R"(
CREATE TABLE {s}.activities (
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  uuid uuid NOT NULL UNIQUE,
  revision bigint NOT NULL,
  version int NOT NULL,
  kind smallint NOT NULL,
  paused boolean NOT NULL DEFAULT false,
  removed boolean NOT NULL,
  cursor bigint NOT NULL,
  next_due bigint,
  last_started bigint,
  started bigint NOT NULL DEFAULT 0,
  duplicates bigint NOT NULL DEFAULT 0,
  missed bigint NOT NULL DEFAULT 0,
  overlapped bigint NOT NULL DEFAULT 0,
  refused bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  note text COLLATE "C" NOT NULL DEFAULT '',
  trouble text COLLATE "C" NOT NULL DEFAULT '',
  definition text COLLATE "C" NOT NULL,
  PRIMARY KEY (ns, id)
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.02))";

constexpr std::string_view activities_due =
    "CREATE INDEX activities_due ON {s}.activities (next_due, ns, id) WHERE next_due IS NOT NULL";

constexpr std::string_view activity_versions_table = R"(
CREATE TABLE {s}.activity_versions (
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version int NOT NULL,
  definition text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (ns, id, version)
))";

constexpr std::string_view activity_generations_table = R"(
CREATE TABLE {s}.activity_generations (
  ns text COLLATE "C" NOT NULL PRIMARY KEY,
  generation bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0))";

}  // namespace

std::vector<std::string_view> definition_tables() {
  return {tasks_table,
          settings_table,
          catalogue_versions_table,
          raise_catalogue_version,
          tasks_changed,
          settings_changed,
          audit_table,
          audit_subject,
          audit_at,
          tokens_table,
          tokens_ns,
          activities_table,
          activities_due,
          activity_versions_table,
          activity_generations_table};
}

}  // namespace hapax::store::postgres
