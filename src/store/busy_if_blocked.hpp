// Blocked tells a caller that batches to admit each item alone. An item that is admitted alone, or a verb with one
// caller, has nothing left to separate: here Blocked becomes StoreBusy, the error that callers of the API know.
#pragma once

#include "store/store.hpp"

#include <hapax/error.hpp>

namespace hapax::store {

template <class Call>
auto busy_if_blocked(const Call& call) {
  try {
    return call();
  } catch (const Blocked& blocked) {
    throw StoreBusy(blocked.what());  // the other transaction stayed open too long
  }
}

}  // namespace hapax::store
