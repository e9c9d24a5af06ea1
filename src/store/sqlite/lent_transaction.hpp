// A write transaction lent to a caller's function (SPEC D9, D10).
#pragma once

#include "store/sqlite/writer.hpp"
#include "store/store.hpp"

#include <functional>

namespace hapax::store::sqlite {

// Begins, calls fn on this thread with the writer's connection, commits; rolls back if fn throws, if a finish in it was
// stale, or if fn ended the transaction by its own hand (then UsageError; a COMMIT of its own never takes effect).
void lend_transaction(Writer& writer, const std::function<void(Transaction&)>& fn);

}  // namespace hapax::store::sqlite
