// Blocked is for those who batch: it tells them to send each item alone. An item that went alone, or a verb that is called for one
// caller, has nobody left to blame, and its caller gets the error that every door knows.
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
