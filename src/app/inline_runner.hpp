// InlineRunner: claims and runs executions on the caller's thread, for tests and inline mode. An InlineRunner starts no
// threads and never waits.
#pragma once

#include "base/limits.hpp"
#include "engine/run.hpp"
#include "engine/worker.hpp"
#include "model/execution.hpp"
#include "store/store.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hapax::app {

// An InlineRunner has a session of its own from construction to destruction. One thread may use it.
class InlineRunner {
 public:
  struct Options {
    std::vector<model::QueueRef> queues;
    std::vector<std::string> tasks;
    Duration lease = limits::lease_max;  // executions of a runner that was not destroyed are free after this
  };

  // `workflow` returns the outcome of a workflow's turn; without it there are no workflows.
  InlineRunner(store::Store& store, Options options, engine::Handler handler,
               std::function<model::Finish(const engine::RunPtr&)> workflow = {});
  InlineRunner(const InlineRunner&) = delete;
  InlineRunner& operator=(const InlineRunner&) = delete;
  ~InlineRunner();

  // Runs the next due execution. Returns its finish, or none when nothing is due (then next_due() may say when).
  [[nodiscard]] std::optional<model::Finish> run_one();
  [[nodiscard]] std::optional<Duration> next_due() const { return next_due_; }

 private:
  store::Store& store_;
  Options options_;
  engine::Handler handler_;
  std::function<model::Finish(const engine::RunPtr&)> workflow_;
  Uuid session_;
  std::int64_t claim_number_ = 0;
  std::optional<Duration> next_due_;
};

}  // namespace hapax::app
