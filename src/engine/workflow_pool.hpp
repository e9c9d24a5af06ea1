// WorkflowPool: runs a worker's claimed workflows. The engine knows only this interface; src/workflow implements it.
#pragma once

#include "engine/outcome.hpp"
#include "engine/run.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::engine {

// Any thread may call it. The pool may keep a run that waits in memory until the run is claimed again.
class WorkflowPool {
 public:
  virtual ~WorkflowPool() = default;
  // Returns the names of the workflows that the pool has functions for.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  // Returns the names of the question workflows (model/question.hpp), for which the pool has functions too.
  [[nodiscard]] virtual std::vector<std::string> questions() const = 0;
  virtual void start(std::function<void()> on_settled) = 0;
  virtual void submit(std::vector<RunPtr> runs) = 0;
  // Appends the outcomes that were decided since the last call.
  virtual void collect(std::vector<Settled>& into) = 0;
  // Takes back runs that have not begun.
  virtual void withdraw(std::vector<RunPtr>& into) = 0;
  // Returns how many more runs the pool takes now; 0 when it is full.
  [[nodiscard]] virtual int room() const = 0;
  // Returns how many runs are claimed and have no outcome yet.
  [[nodiscard]] virtual int active() const = 0;
  // Called regularly: wakes threads for runs that wait behind long functions, and reports functions that do not return.
  virtual void look(Time now) = 0;
  // After hold() no run begins.
  virtual void hold() = 0;
  // Unwinds the runs in memory and ends the threads; a thread that does not return by `until` is detached.
  virtual void stop(Time until) = 0;
};

// The engine's interface to the workflows that an app has functions for.
class WorkflowSupport {
 public:
  virtual ~WorkflowSupport() = default;
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;

  struct PoolOptions {
    int threads = 1;
    int cached = 1000;
    std::size_t stack_bytes = 0;
    std::string build;
    std::function<void(std::string_view)> on_trouble;
  };
  [[nodiscard]] virtual std::shared_ptr<WorkflowPool> make_pool(PoolOptions options) = 0;
  // Runs one turn on the caller's thread, from the journal to the turn's outcome.
  [[nodiscard]] virtual model::Finish run_here(const RunPtr& run) = 0;
};

}  // namespace hapax::engine
