// The SQL of each schema version. A released version is never edited: a change is a new version.
#pragma once

#include <string_view>
#include <vector>

namespace hapax::store::postgres {

// Statements that bring the schema from `version - 1` to `version`. {s} stands for the schema.
[[nodiscard]] std::vector<std::string_view> migration(int version);
[[nodiscard]] std::vector<std::string_view> migration_3();
[[nodiscard]] std::vector<std::string_view> migration_4();
[[nodiscard]] std::vector<std::string_view> migration_5();
[[nodiscard]] std::vector<std::string_view> migration_6();
[[nodiscard]] std::vector<std::string_view> migration_7();
[[nodiscard]] std::vector<std::string_view> migration_8();

// The oldest build, by the newest schema version it knows, that works on `version`: deploys can roll.
[[nodiscard]] int usable_from(int version);

}  // namespace hapax::store::postgres
