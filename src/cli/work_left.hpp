// What is left in the queues of a worker: for `hapax work --until-empty`, which says what it waits for, and `--until-idle`,
// which ends when nothing is left that this worker could run.
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
  bool own = false;         // something that this worker could run, now or later
  std::int64_t others = 0;  // executions that it could not: workflows, and tasks that --task leaves out
  std::string text;         // those, for people: "workflow 'order' (2, such as 0193…)"
};

// Looks through the pending and running executions of the plan's queues, up to limits::list_page of ten pages a queue; of a
// queue that is longer, `own` is told. A queue that is paused is no reason that a worker could not run what is in it.
[[nodiscard]] WorkLeft look_at_left(Backend& backend, const WorkPlan& plan);

struct WorkWatch {
  engine::Worker& worker;
  Backend& backend;
  const WorkPlan& plan;
  const std::atomic<bool>& stopping;
  std::function<void(std::string_view)> remark;  // of what is waited for, whenever that changes
};

// Waits until the queues are empty or, with until_idle, hold nothing that the worker could run. False when the worker stops
// first. Throws what the backend throws, but StoreUnavailable.
[[nodiscard]] bool wait_for_the_end(const WorkWatch& watch);

}  // namespace hapax::cli
