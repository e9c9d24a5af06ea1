// Seeds: the journal and events that a workflow starts with when it is admitted.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/connection.hpp"

#include <vector>

namespace hapax::store::postgres {

// Writes journal and inbox of executions that were just inserted in the open transaction: 1 round trip, none when no
// item has a seed.
void plant(Connection& connection, const std::vector<const model::NewExecution*>& fresh, std::int64_t offset_us);

}  // namespace hapax::store::postgres
