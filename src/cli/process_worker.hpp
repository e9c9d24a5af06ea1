// Runs any program as a handler: the program gets the execution on its standard input and in its environment; its exit
// status and standard output give the outcome (docs/guides/worker-program.md).
#pragma once

#include "cli/child_environment.hpp"
#include "cli/child_process.hpp"
#include "engine/run.hpp"

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>

namespace hapax::cli {

struct ProcessOptions {
  ChildEnvironment environment;
  Duration kill_after = std::chrono::seconds(5);       // between SIGTERM and SIGKILL
  std::optional<Duration> timeout;                     // per attempt, beside the execution's own
  std::function<void(std::string_view)> on_trouble{};  // called on any of the worker's threads
};

// The worker's pool threads call run(), several at once. Outlives the worker.
class ProcessWorker {
 public:
  ProcessWorker(Program program, ProcessOptions options) : program_(std::move(program)), options_(std::move(options)) {}

  [[nodiscard]] engine::Ending run(engine::Run& run);

  // Kills all children at once; their executions are released, so no attempt is spent.
  void kill_all();
  // Whether children are still alive.
  [[nodiscard]] bool busy() const { return !groups_.empty(); }

 private:
  const Program program_;
  const ProcessOptions options_;
  ChildGroups groups_;
  std::atomic<bool> killed_{false};
};

// The attempt's outcome, derived from how its child ended.
[[nodiscard]] engine::Ending ending_of(const ChildResult& result);

}  // namespace hapax::cli
