// What becomes of a child workflow when the workflow that started it ends (SPEC W4).
//
// The child carries the rule in its metadata, where every store can read it and people see it: a parent that is ended from
// outside (deadline, dead letter, terminated) cannot say it any more. A child goes on only if it was told to.
#pragma once

#include "model/execution.hpp"

#include <string_view>

namespace hapax::model {

// The metadata of one that outlives its parent.
inline constexpr std::string_view outliving_metadata = R"({"parent_close":"abandon"})";
inline constexpr std::string_view parent_ended = "its parent has ended";

[[nodiscard]] bool outlives_parent(const Labels& labels);

}  // namespace hapax::model
