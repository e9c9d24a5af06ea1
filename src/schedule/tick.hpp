// Computes the change of one due activity that a ticker submits to the store. Pure functions of the state that the
// store returned, apart from the ids, which the caller supplies; so they can be tested without a store.
//
// Under every overlap policy but `allow`, the runs of an activity share an ordering key, activity:{activity_id}, in
// their target's queue. So the queue runs them one after the other, and a buffered run is an ordinary pending
// execution, visible in `list`, `cancel` and `explain`. This file only decides which ticks start, and which live runs
// are ended.
#pragma once

#include "model/activity_state.hpp"
#include "schedule/activity.hpp"
#include "schedule/firing.hpp"

#include <functional>
#include <string>
#include <vector>

namespace hapax::schedule {

using NewId = std::function<Uuid()>;

// The complete executions of one run, with ids, parents and ordering key. The target's parent is the activity; a task
// instance's parent is the target. Throws what fire() throws.
struct RunRequests {
  std::string run_id;
  std::vector<model::NewExecution> requests;  // the target first
};
[[nodiscard]] RunRequests run_requests(const Activity& activity, const Reason& reason, const FiringContext& context,
                                       const NewId& new_id);

// The change for an activity that is due.
struct TickContext {
  Time now;
  const model::Catalogue* catalogue = nullptr;
  NewId new_id;
};
[[nodiscard]] model::ActivityChange tick_change(const model::DueActivity& due, const Activity& activity,
                                                const TickContext& context);

// The number of runs that one change may start. All their executions are in one transaction, which is bounded in
// executions (limits::bulk_batch) and in bytes (16 MiB).
[[nodiscard]] int most_runs(const Activity& activity, const std::optional<std::string>& last_result);

// The change for an activity whose definition cannot be read or whose change failed: the ticker tries again in 5 s.
[[nodiscard]] model::ActivityChange postpone(const model::DueActivity& due, Time now, const std::string& trouble);

// "PayloadTooLarge: input: …"
[[nodiscard]] std::string trouble_of(const std::exception& error);

}  // namespace hapax::schedule
