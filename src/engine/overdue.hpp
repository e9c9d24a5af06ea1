// Deadlines where nobody sweeps: whoever looks at an execution ends it first, if its deadline has passed (SPEC D7).
#pragma once

#include "store/store.hpp"

namespace hapax::engine {

// A sweep of the store, as any worker's, when this execution is overdue; until it has ended, in bounded steps. True when
// there was one. Throws what the store throws.
bool end_if_overdue(store::Store& store, const Uuid& id);

}  // namespace hapax::engine
