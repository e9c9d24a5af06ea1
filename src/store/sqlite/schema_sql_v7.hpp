// The SQL of schema version 7: versions of catalogues, and whose record a tombstone stands for.
#pragma once

namespace hapax::store::sqlite {

inline constexpr const char* schema_v7 = R"sql(
-- Raised by each change of a namespace's tasks and settings, whoever makes it: an admission compares it with the version
-- that its request was made by. Rows are never deleted.
CREATE TABLE catalogue_versions(
  ns TEXT PRIMARY KEY,
  version INTEGER NOT NULL) WITHOUT ROWID;

CREATE TRIGGER tasks_added AFTER INSERT ON tasks BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER tasks_changed AFTER UPDATE ON tasks BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER tasks_removed AFTER DELETE ON tasks BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (OLD.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER settings_added AFTER INSERT ON settings BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER settings_changed AFTER UPDATE ON settings BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (NEW.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER settings_removed AFTER DELETE ON settings BEGIN
  INSERT INTO catalogue_versions(ns, version) VALUES (OLD.ns, 1) ON CONFLICT(ns) DO UPDATE SET version = version + 1;
END;

-- Of a tombstone: the queue of the execution whose record is gone, so that asking for its result is answered by namespace.
ALTER TABLE identities ADD COLUMN queue_id INTEGER;
CREATE INDEX identities_buried ON identities(execution) WHERE hold_until IS NOT NULL;
)sql";

}  // namespace hapax::store::sqlite
