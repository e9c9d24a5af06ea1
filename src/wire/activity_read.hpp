// The documents of wire/activity_json.hpp read back into values: for those who show them to people.
#pragma once

#include "model/activity_state.hpp"

#include <string_view>
#include <vector>

namespace hapax::wire {

// Each throws BadAnswer. Of the state, what the document tells: neither uuid nor revision nor cursor.
[[nodiscard]] model::ActivityState read_activity(std::string_view document);
// Of one that was asked for with its versions; else none.
[[nodiscard]] std::vector<model::ActivityVersion> read_versions(std::string_view document);

}  // namespace hapax::wire
