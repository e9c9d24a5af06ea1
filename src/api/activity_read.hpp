// Reads the documents of api/activity_json.hpp back into values, for the command line's tables.
#pragma once

#include "model/activity_state.hpp"

#include <string_view>
#include <vector>

namespace hapax::api {

// Both functions throw BadAnswer. The document has no uuid, revision or cursor, so the state has none either.
[[nodiscard]] model::ActivityState read_activity(std::string_view document);
// Returns no versions unless the document was requested with them.
[[nodiscard]] std::vector<model::ActivityVersion> read_versions(std::string_view document);

}  // namespace hapax::api
