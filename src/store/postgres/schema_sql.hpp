// The SQL that makes the schema. {s} stands for the schema's name.
#pragma once

#include <string_view>
#include <vector>

namespace hapax::store::postgres {

[[nodiscard]] std::vector<std::string_view> execution_tables();
[[nodiscard]] std::vector<std::string_view> definition_tables();
[[nodiscard]] std::vector<std::string_view> schema_views();  // over both

}  // namespace hapax::store::postgres
