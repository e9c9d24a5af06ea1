// `hapax work` apart from its flags: a worker whose handler is a program, in this process or in several.
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

// As the command line has it.
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

// The same checked, with what the configuration says. Touches no store.
struct WorkPlan {
  Program program;
  engine::WorkerOptions worker;
  ProcessOptions process;
  bool until_empty = false;
  bool until_idle = false;
  // Called before the process leaves with a store that does not answer; may be empty.
  std::function<void(const engine::WorkerStats&)> leaving;
};
[[nodiscard]] WorkPlan plan_work(const Shell& shell, const WorkOptions& options);

// Works until a signal says to stop, or nothing is left with until_empty, or nothing for it with
// until_idle. Without a supervisor it shows progress and its
// remarks, with one it tells that. Both return what became of the work.
[[nodiscard]] engine::WorkerStats work(Shell& shell, WorkPlan plan, SupervisedProcess* process = nullptr);

// "12 completed, 1 failed, 30/s"
[[nodiscard]] std::string live_text(const engine::WorkerStats& stats, std::chrono::steady_clock::duration elapsed);
[[nodiscard]] engine::WorkerStats stats_of(const WorkerCounts& counts);

}  // namespace hapax::cli
