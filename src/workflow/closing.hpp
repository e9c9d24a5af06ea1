// Cancels a run's child workflows before the run ends.
#pragma once

#include "model/execution.hpp"
#include "store/store.hpp"

#include <vector>

namespace hapax::workflow {

// Cancels `children` and all other live child workflows of the run that must not outlive it, as a child may have
// continued as new. Blocks; throws what the store throws.
void cancel_children(store::Store& store, const model::Claim& parent, std::vector<Uuid> children);

}  // namespace hapax::workflow
