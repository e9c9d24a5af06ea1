// What a run does to its child workflows before it ends (SPEC W4).
#pragma once

#include "model/execution.hpp"
#include "store/store.hpp"

#include <vector>

namespace hapax::workflow {

// Cancels `children` and, as one of them may have gone on as another run since, all live child workflows of the run that do
// not outlive it. Blocks; throws what the store throws.
void cancel_children(store::Store& store, const model::Claim& parent, std::vector<Uuid> children);

}  // namespace hapax::workflow
