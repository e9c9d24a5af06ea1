// The committed write by which health probes judge a store (decision 49).
#pragma once

#include "store/store.hpp"

namespace hapax::store {

// Opens and closes a worker session without queues, each in a commit of its own, and throws the errors of a write,
// which a read would not show: StoreUnavailable for a full disk or a read-only database, StoreBusy, CommitUnknown. The
// session has the shortest lease, so that a sweep removes it if the process dies in between.
void check_writable(Store& store);

}  // namespace hapax::store
