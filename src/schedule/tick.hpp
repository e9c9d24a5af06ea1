// From what is due to what is done about it (SPEC S4, S5, S7): the change of one activity that a ticker hands to the store.
// Pure but for the ids, which are handed in: a function of what the store told, so that it can be tried without one.
//
// Runs that may not overlap (every policy but `allow`) share an ordered key, activity:{activity_id}, in the queue of their
// target. So it is the queue that keeps them one after the other, and a buffered run is an execution like any other that
// waits for its turn: seen in lists, cancelled by its id, told by `explain`. What is left to decide here is which ticks
// start, and which of the others have to go.
#pragma once

#include "model/activity_state.hpp"
#include "schedule/activity.hpp"
#include "schedule/firing.hpp"

#include <functional>
#include <string>
#include <vector>

namespace hapax::schedule {

using NewId = std::function<Uuid()>;

// The executions of one run, complete: with ids, parents (the target's is the activity, the task instances' the target) and
// the key. Throws what fire() throws.
struct RunRequests {
  std::string run_id;
  std::vector<model::NewExecution> requests;  // the target first
};
[[nodiscard]] RunRequests run_requests(const Activity& activity, const Reason& reason, const FiringContext& context,
                                       const NewId& new_id);

// What a ticker does about an activity that is due.
struct TickContext {
  Time now;
  const model::Catalogue* catalogue = nullptr;
  NewId new_id;
};
[[nodiscard]] model::ActivityChange tick_change(const model::DueActivity& due, const Activity& activity,
                                                const TickContext& context);

// Runs that one change may start: all of their executions are one transaction, bounded in number and in bytes.
[[nodiscard]] int most_runs(const Activity& activity, const std::optional<std::string>& last_result);

// Of one that cannot be read, or could not be changed: looked at again later.
[[nodiscard]] model::ActivityChange postpone(const model::DueActivity& due, Time now, const std::string& trouble);

// "PayloadTooLarge: input: …"
[[nodiscard]] std::string trouble_of(const std::exception& error);

}  // namespace hapax::schedule
