// A workflow that continues as a new run: what the new row takes over from the old one.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/queue_ids.hpp"
#include "store/postgres/statement.hpp"

#include <vector>

namespace hapax::store::postgres {

struct NextRun {
  Uuid before;  // locked and still live
  const model::Turn* turn = nullptr;
  const model::NewExecution* item = nullptr;  // from as_next_run()
  bool holds = false;                         // the old run holds its identity, and its row is locked
};

// The request without the fields that the old run's row provides.
[[nodiscard]] model::NewExecution as_next_run(const model::NewExecution& next);

// Two or three statements, however many runs: identities are repointed, rows inserted (also into draining queues, as
// they are no new work), and signals, waiters and the rest carried over.
void add_next_run_calls(std::vector<Call>& calls, const std::vector<NextRun>& runs, const QueueIds& queues,
                        std::int64_t offset_us);

}  // namespace hapax::store::postgres
