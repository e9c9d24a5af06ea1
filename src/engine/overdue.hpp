// Deadlines without a sweeper: a reader of an execution ends it first, if its deadline has passed.
#pragma once

#include "store/store.hpp"

namespace hapax::engine {

// If this execution is overdue, sweeps the store, in bounded steps, until it has ended, and returns true. Throws what
// the store throws.
bool end_if_overdue(store::Store& store, const Uuid& id);

}  // namespace hapax::engine
