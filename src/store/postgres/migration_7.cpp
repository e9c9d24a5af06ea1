// Version 7: versions of catalogues, and whose record a tombstone stands for.
//
// A build that knows only version 4 to 6 raises the version by the triggers when it declares a task, and asks for none
// when it admits: it may go on beside newer ones. The tombstones it makes have no queue.
#include "store/postgres/migrations.hpp"

namespace hapax::store::postgres {

namespace {

// Raised by each change of a namespace's tasks and settings, whoever makes it: an admission compares it with the version
// that its request was made by. Rows are never deleted.
constexpr std::string_view catalogue_versions = R"(
CREATE TABLE {s}.catalogue_versions (
  ns text COLLATE "C" NOT NULL PRIMARY KEY,
  version int NOT NULL
) WITH (fillfactor = 50))";

constexpr std::string_view raise = R"(
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

// Of a tombstone: the queue of the execution whose record is gone, so that asking for its result is answered by namespace.
constexpr std::string_view identities_queue = "ALTER TABLE {s}.identities ADD COLUMN queue_id int";
constexpr std::string_view identities_buried =
    "CREATE INDEX identities_buried ON {s}.identities (execution) WHERE hold_until IS NOT NULL";

}  // namespace

std::vector<std::string_view> migration_7() {
  return {catalogue_versions, raise, tasks_changed, settings_changed, identities_queue, identities_buried};
}

}  // namespace hapax::store::postgres
