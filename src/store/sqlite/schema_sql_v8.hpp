// The SQL of schema version 8, a block a change.
#pragma once

namespace hapax::store::sqlite {

// ---- Names of events' runs (decision 58) ---------------------------------------------------------------------------
// A name goes with its identity: when the row is deleted, another may have the name.
inline constexpr const char* schema_v8 = R"sql(
ALTER TABLE identities ADD COLUMN name BLOB;
CREATE UNIQUE INDEX identities_name ON identities(name) WHERE name IS NOT NULL;
)sql";

}  // namespace hapax::store::sqlite
