// Any program as a handler (SPEC L1): the execution on its standard input and in its environment, its outcome from its
// exit status and its standard output.
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
  std::optional<Duration> timeout;                     // for attempts, beside the execution's own
  std::function<void(std::string_view)> on_trouble{};  // on any of the worker's threads
};

// Called by the worker's pool threads, several at once. Outlives the worker.
class ProcessWorker {
 public:
  ProcessWorker(Program program, ProcessOptions options) : program_(std::move(program)), options_(std::move(options)) {}

  [[nodiscard]] engine::Ending run(engine::Run& run);

  // Kills all children at once; their executions are released, so that no attempt is spent on it.
  void kill_all();
  // Whether children are still alive.
  [[nodiscard]] bool busy() const { return !groups_.empty(); }

 private:
  const Program program_;
  const ProcessOptions options_;
  ChildGroups groups_;
  std::atomic<bool> killed_{false};
};

// The rule of L1, apart from processes: what a child's end means for the attempt.
[[nodiscard]] engine::Ending ending_of(const ChildResult& result);

}  // namespace hapax::cli
