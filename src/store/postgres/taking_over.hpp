// Running guards whose caller is lost and that another caller takes over.
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

// The open transaction has locked the guards' rows and identities, and the new callers' sessions exist. 1 round trip.
void take_over(Connection& connection, const std::vector<TakingOver>& guards, std::int64_t offset_us);

}  // namespace hapax::store::postgres
