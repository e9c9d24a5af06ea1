// The write that probes judge a store by.
#pragma once

#include "store/store.hpp"

namespace hapax::store {

// Commits a write and another that takes it back: a worker session without queues, of the shortest lease, so that one whose
// process dies in between is swept. Throws as every write of the store does: StoreUnavailable where the disk is full or the
// database read-only, StoreBusy, CommitUnknown. Reading would not tell.
void check_writable(Store& store);

}  // namespace hapax::store
