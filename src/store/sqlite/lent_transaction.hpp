// A write transaction lent to a caller's function, which writes its own rows in it.
#pragma once

#include "store/sqlite/writer.hpp"
#include "store/store.hpp"

#include <functional>

namespace hapax::store::sqlite {

// Begins a transaction, calls fn on this thread with the writer's connection, and commits. Rolls back if fn throws, if
// a finish in it was stale, or if fn ended the transaction itself: then UsageError, and fn's own COMMIT never takes
// effect.
void lend_transaction(Writer& writer, const std::function<void(Transaction&)>& fn);

}  // namespace hapax::store::sqlite
