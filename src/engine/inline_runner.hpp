// InlineRunner: claims and runs on the caller's thread, for tests and for inline mode. No threads, no waiting.
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

namespace hapax::engine {

// A session of its own from construction to destruction. One thread.
class InlineRunner {
 public:
  struct Options {
    std::vector<model::QueueRef> queues;
    std::vector<std::string> tasks;
    Duration lease = limits::lease_max;  // what it holds when it is gone without a word is free after this
  };

  // `workflow` gives the outcome of a workflow's turn; without it there are none.
  InlineRunner(store::Store& store, Options options, Handler handler,
               std::function<model::Finish(const RunPtr&)> workflow = {});
  InlineRunner(const InlineRunner&) = delete;
  InlineRunner& operator=(const InlineRunner&) = delete;
  ~InlineRunner();

  // Runs the next due execution; its finish, or none when nothing is due (then next_due() may say when).
  [[nodiscard]] std::optional<model::Finish> run_one();
  [[nodiscard]] std::optional<Duration> next_due() const { return next_due_; }

 private:
  store::Store& store_;
  Options options_;
  Handler handler_;
  std::function<model::Finish(const RunPtr&)> workflow_;
  Uuid session_;
  std::int64_t claim_number_ = 0;
  std::optional<Duration> next_due_;
};

}  // namespace hapax::engine
