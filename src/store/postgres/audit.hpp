// The audit: a line for each change that an actor made, written in the transaction of the change.
#pragma once

#include "model/audit.hpp"
#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/statement.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hapax::store::postgres {

[[nodiscard]] Call audit_call(const model::AuditLine& line, std::int64_t offset_us);

// Acts of one actor on executions. Each execution must be live or finished when the line is written.
struct Acts {
  struct One {
    Uuid execution;
    std::string_view detail;
  };
  const model::Actor& by;
  std::string_view action;
  std::vector<One> done;
};
[[nodiscard]] Call act_call(const Acts& acts, std::int64_t offset_us);

// Writes the line for a live holder that was terminated for this request: 1 round trip when the request names an actor,
// else none.
void audit_terminated(Connection& connection, const Uuid& holder, const model::NewExecution& request,
                      std::int64_t offset_us);

// Deletes up to `limit` lines older than limits::audit_kept. True when there may be more.
[[nodiscard]] bool sweep_audit(Connection& connection, int limit, std::int64_t offset_us);

}  // namespace hapax::store::postgres
