// The executions left in the queues of a worker: for `hapax work --until-empty`, which prints the ones it waits for,
// and `--until-idle`, which ends when none is left that this worker could run.
#pragma once

#include "cli/backend.hpp"
#include "cli/work_loop.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hapax::cli {

struct WorkLeft {
  bool own = false;         // an execution that this worker could run, now or later
  std::int64_t others = 0;  // executions that this worker does not run: workflows, and tasks that --task leaves out
  std::string text;         // the others, as text for people: "workflow 'order' (2, such as 0193…)"
};

// Reads the pending and running executions of the plan's queues, at most ten pages of limits::list_page per queue; for
// a longer queue `own` is true. Executions of a paused queue count like any others.
[[nodiscard]] WorkLeft look_at_left(Backend& backend, const WorkPlan& plan);

struct WorkWatch {
  engine::Worker& worker;
  Backend& backend;
  const WorkPlan& plan;
  const std::atomic<bool>& stopping;
  std::function<void(std::string_view)> remark;  // called with the executions waited for, whenever they change
};

// Waits until the queues are empty or, with until_idle, hold nothing that the worker could run. False when the worker
// stops first. Throws what the backend throws, except StoreUnavailable.
[[nodiscard]] bool wait_for_the_end(const WorkWatch& watch);

}  // namespace hapax::cli
