// The parent-close policy: what happens to a child workflow when its parent workflow ends.
//
// The child carries the policy in its metadata, where every store can read it and operators can see it: a parent that
// is ended from outside (deadline, dead letter, terminate) no longer runs code. By default a child is cancelled.
#pragma once

#include "model/execution.hpp"

#include <optional>
#include <string_view>

namespace hapax::model {

// The metadata of a child that outlives its parent.
inline constexpr std::string_view outliving_metadata = R"({"parent_close":"abandon"})";
inline constexpr std::string_view parent_ended = "its parent has ended";

// Only a workflow that starts a child writes this metadata, always with these bytes.
[[nodiscard]] inline bool outlives_parent(const Labels& labels) { return labels.metadata == outliving_metadata; }

// Whether a live child is cancelled when its parent ends at `now`. A child that outlives its parent is not. Neither is
// a child whose own deadline has passed (decision 40): the sweep times the child out, so that the outcome does not
// depend on which of the two a sweep processes first.
[[nodiscard]] inline bool closes_with_parent(const Labels& labels, const std::optional<Time>& deadline, Time now) {
  return !outlives_parent(labels) && !(deadline && *deadline <= now);
}

}  // namespace hapax::model
