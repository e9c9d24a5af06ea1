// The SQL of schema version 8, one block per change.
#pragma once

namespace hapax::store::sqlite {

// ---- Names of events' runs (decision 58) ---------------------------------------------------------------------------
// A name belongs to its identity's row: when the row is deleted, another identity may take the name.
inline constexpr const char* schema_v8 = R"sql(
ALTER TABLE identities ADD COLUMN name BLOB;
CREATE UNIQUE INDEX identities_name ON identities(name) WHERE name IS NOT NULL;
)sql";

}  // namespace hapax::store::sqlite
