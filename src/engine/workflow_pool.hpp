// WorkflowPool: where a worker's claimed workflows go on. The engine knows it only by this; workflow/ has it.
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

// Any thread may call it. Runs that are given back as waiting may be kept in memory, for when they are claimed again.
class WorkflowPool {
 public:
  virtual ~WorkflowPool() = default;
  // The names it has functions for.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  // The names of the workflows that ask them (model/question.hpp), which it has functions for too.
  [[nodiscard]] virtual std::vector<std::string> questions() const = 0;
  virtual void start(std::function<void()> on_settled) = 0;
  virtual void submit(std::vector<RunPtr> runs) = 0;
  // Appends what was decided since the last call.
  virtual void collect(std::vector<Settled>& into) = 0;
  // Takes back runs that were not begun.
  virtual void withdraw(std::vector<RunPtr>& into) = 0;
  // How many more it would take now; 0: it is full.
  [[nodiscard]] virtual int room() const = 0;
  // Claimed and not yet given back.
  [[nodiscard]] virtual int active() const = 0;
  // Looks after functions that take long or never come back.
  virtual void look(Time now) = 0;
  // From here nothing new is begun.
  virtual void hold() = 0;
  // Puts aside what it has in memory and ends its threads; one that does not come back by `until` is left behind.
  virtual void stop(Time until) = 0;
};

// The workflows an app has functions for.
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
  // One turn on the caller's thread, from the journal, to its outcome.
  [[nodiscard]] virtual model::Finish run_here(const RunPtr& run) = 0;
};

}  // namespace hapax::engine
