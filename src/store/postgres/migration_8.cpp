#include "store/postgres/migrations.hpp"

namespace hapax::store::postgres {

namespace {

// ---- Names of events' runs (decision 58) ---------------------------------------------------------------------------
// A name belongs to its identity. When the identity's row is deleted, another identity may take the name.
constexpr std::string_view identities_name = "ALTER TABLE {s}.identities ADD COLUMN name bytea";
constexpr std::string_view identities_by_name =
    "CREATE UNIQUE INDEX identities_name ON {s}.identities (name) WHERE name IS NOT NULL";

}  // namespace

std::vector<std::string_view> migration_8() { return {identities_name, identities_by_name}; }

}  // namespace hapax::store::postgres
