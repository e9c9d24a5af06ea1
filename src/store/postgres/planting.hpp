// Seeds: what a workflow has behind it when it is admitted.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/connection.hpp"

#include <vector>

namespace hapax::store::postgres {

// Journal and inbox of executions that were just inserted in the open transaction. One statement, 1 round trip; nothing
// when none of them has a seed.
void plant(Connection& connection, const std::vector<const model::NewExecution*>& fresh, std::int64_t offset_us);

}  // namespace hapax::store::postgres
