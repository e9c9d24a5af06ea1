// Executions that are stopped from outside, in the open transaction of a connection.
#pragma once

#include "model/audit.hpp"
#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/park.hpp"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace hapax::store::postgres {

struct StopRequest {
  // Pending executions are ended. Running ones are asked to stop. A workflow that has begun gets a cancel event and
  // ends by itself.
  std::vector<Uuid> cancel;
  std::vector<Uuid> terminate;  // ended, also when running
  std::string_view reason;
};

// Results of those that are live; a missing id has ended or never was. Rows are locked by id, as everywhere. 1 to 4
// round trips, and those of close_children() when a begun workflow is ended.
[[nodiscard]] std::unordered_map<Uuid, model::CancelResult> stop(Connection& connection, const StopRequest& request,
                                                                 std::int64_t offset_us, FreedKeys& freed);

// Cancels the child workflows of ended workflows that must not outlive their parent. 1 round trip when there are none.
void close_children(Connection& connection, const std::vector<Uuid>& ended, std::int64_t offset_us, FreedKeys& freed);

// Makes a new run of a finished execution, in the open transaction of the connection. A repeated call with the same new
// id answers `created` again and changes nothing. 2 to 6 round trips, 1 more with an audit line.
[[nodiscard]] model::RetryResult retry_one(Connection& connection, const model::RetryRequest& request,
                                           const model::Actor& by, std::int64_t offset_us);

}  // namespace hapax::store::postgres
