#include "model/parent_close.hpp"

namespace hapax::model {

// Only a workflow that starts a child writes this metadata, always with these bytes.
bool outlives_parent(const Labels& labels) { return labels.metadata == outliving_metadata; }

bool closes_with_parent(const Labels& labels, const std::optional<Time>& deadline, Time now) {
  return !outlives_parent(labels) && !(deadline && *deadline <= now);
}

}  // namespace hapax::model
