// Guards that have lost their caller go to another.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/connection.hpp"

#include <vector>

namespace hapax::store::postgres {

struct TakingOver {
  Uuid id;
  const model::NewExecution* by = nullptr;
  model::Admission* admission = nullptr;  // gets the fence
};

// Their rows and identities are locked by the open transaction, and the sessions of those who take them are there. 1 round
// trip.
void take_over(Connection& connection, const std::vector<TakingOver>& guards, std::int64_t offset_us);

}  // namespace hapax::store::postgres
