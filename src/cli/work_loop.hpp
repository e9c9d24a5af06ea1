// The worker of `hapax work`, whose handler is a program; in this process or in several.
#pragma once

#include <hapax/supervisor.hpp>

#include "cli/process_worker.hpp"
#include "cli/shell.hpp"
#include "engine/worker.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hapax::cli {

// The values of the flags.
struct WorkOptions {
  std::vector<std::string> queues;
  std::vector<std::string> tasks;
  std::string exec;
  std::optional<int> concurrency;
  std::optional<int> processes;
  bool until_empty = false;
  bool until_idle = false;
  std::optional<std::string> lease;
  std::optional<std::string> grace;
  std::string kill_after = "5s";
  std::optional<std::string> timeout;
  std::string name;
  std::vector<std::string> pass_env;
};

// The checked flags with the values of the configuration. Touches no store.
struct WorkPlan {
  Program program;
  engine::WorkerOptions worker;
  ProcessOptions process;
  bool until_empty = false;
  bool until_idle = false;
  // Called before the process exits because the store does not answer; may be empty.
  std::function<void(const engine::WorkerStats&)> leaving;
};
[[nodiscard]] WorkPlan plan_work(const Shell& shell, const WorkOptions& options);

// Works until a signal asks to stop, with until_empty until the queues are empty, with until_idle until they hold
// nothing that this worker could run. Shows progress, or reports the counts to the supervisor if there is one. Returns
// the counts.
[[nodiscard]] engine::WorkerStats work(Shell& shell, WorkPlan plan, SupervisedProcess* process = nullptr);

// "12 completed, 1 failed, 30/s"
[[nodiscard]] std::string live_text(const engine::WorkerStats& stats, std::chrono::steady_clock::duration elapsed);
[[nodiscard]] engine::WorkerStats stats_of(const WorkerCounts& counts);

}  // namespace hapax::cli
