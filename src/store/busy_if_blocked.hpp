// Turns Blocked into StoreBusy, the error that callers of the API know, for calls with nothing left to separate: an
// item that is admitted alone, or a verb with one caller. Blocked tells callers of batches to admit each item alone.
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
