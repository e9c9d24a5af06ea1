// Executions that somebody stops who does not run them, in the open transaction of a connection.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/parking.hpp"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace hapax::store::postgres {

struct StopRequest {
  // What waits is ended. What runs is asked to stop; a workflow that has begun is told, and ends by itself.
  std::vector<Uuid> cancel;
  std::vector<Uuid> terminate;  // ended, also when it runs
  std::string_view reason;
};

// Of all that is live: the rest has ended, or never was. Rows are locked by id, as everywhere. 1 to 4 round trips.
[[nodiscard]] std::unordered_map<Uuid, model::CancelResult> stop(Connection& connection, const StopRequest& request,
                                                                 std::int64_t offset_us, FreedKeys& freed);

// Workflows among these were ended by others: child workflows that do not outlive them are cancelled. 1 round trip when
// there are none.
void close_children(Connection& connection, const std::vector<Uuid>& ended, std::int64_t offset_us, FreedKeys& freed);

}  // namespace hapax::store::postgres
