// Schemas of the versions 1 to 8, which builds from before the first release made. No release brings them forward.
#pragma once

#include <string>

namespace hapax::store {

inline constexpr int first_released_schema = 9;

[[nodiscard]] inline bool is_unreleased_schema(int version) { return version > 0 && version < first_released_schema; }

// The message of the refusal; the store adds where the schema is and what to do.
[[nodiscard]] inline std::string unreleased_schema(int version) {
  return "the schema has version " + std::to_string(version) +
         ", which a build from before the first release made; no release uses it";
}

}  // namespace hapax::store
