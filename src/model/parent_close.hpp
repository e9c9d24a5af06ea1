// What becomes of a child workflow when the workflow that started it ends (SPEC W4).
//
// The child carries the rule in its metadata, where every store can read it and people see it: a parent that is ended from
// outside (deadline, dead letter, terminated) cannot say it any more. A child goes on only if it was told to.
#pragma once

#include "model/execution.hpp"

#include <optional>
#include <string_view>

namespace hapax::model {

// The metadata of one that outlives its parent.
inline constexpr std::string_view outliving_metadata = R"({"parent_close":"abandon"})";
inline constexpr std::string_view parent_ended = "its parent has ended";

[[nodiscard]] bool outlives_parent(const Labels& labels);

// Is a live child workflow cancelled as its parent ends at `now`? A child that outlives its parent is not. Nor is a child
// whose own deadline has passed: the sweep times it out, so that its outcome does not depend on which of the two a sweep
// meets first, or on where one sweep ends and the next begins.
[[nodiscard]] bool closes_with_parent(const Labels& labels, const std::optional<Time>& deadline, Time now);

}  // namespace hapax::model
