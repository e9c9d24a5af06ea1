// A new run of a finished execution, in the open transaction of a connection.
#pragma once

#include "model/audit.hpp"
#include "model/execution.hpp"
#include "store/postgres/connection.hpp"

namespace hapax::store::postgres {

// 2 to 6 round trips, 1 more with an audit line. A repeated call with the same new id answers created again and changes
// nothing.
[[nodiscard]] model::RetryResult retry_one(Connection& connection, const model::RetryRequest& request,
                                           const model::Actor& by, std::int64_t offset_us);

}  // namespace hapax::store::postgres
