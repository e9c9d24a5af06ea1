// The committed write by which health probes judge a store (decision 49).
#pragma once

#include "store/store.hpp"

namespace hapax::store {

// Commits a write and then another that undoes it: a worker session without queues, of the shortest lease, so that a
// sweep removes the session if the process dies in between. Throws as every write of the store does: StoreUnavailable
// where the disk is full or the database read-only, StoreBusy, CommitUnknown. A read would not show these errors.
void check_writable(Store& store);

}  // namespace hapax::store
