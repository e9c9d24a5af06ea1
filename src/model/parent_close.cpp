#include "model/parent_close.hpp"

namespace hapax::model {

// Nobody but a workflow's start of a child writes that, and in these bytes.
bool outlives_parent(const Labels& labels) { return labels.metadata == outliving_metadata; }

bool closes_with_parent(const Labels& labels, const std::optional<Time>& deadline, Time now) {
  return !outlives_parent(labels) && !(deadline && *deadline <= now);
}

}  // namespace hapax::model
