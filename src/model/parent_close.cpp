#include "model/parent_close.hpp"

namespace hapax::model {

// Nobody but a workflow's start of a child writes that, and in these bytes.
bool outlives_parent(const Labels& labels) { return labels.metadata == outliving_metadata; }

}  // namespace hapax::model
