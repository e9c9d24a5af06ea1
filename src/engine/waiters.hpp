// Waiters: all callers of this process that wait for executions to end.
//
// An outcome that a worker of this process records is delivered at once. One thread polls the store for all other
// executions together, from every 2 ms for new waits to every 200 ms for old ones. Any thread may call it.
#pragma once

#include "engine/step_thread.hpp"
#include "model/execution.hpp"
#include "store/store.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace hapax::engine {

class Waiters {
 public:
  // (outcome, nullptr), (nullptr, error), or (nullptr, nullptr) after a timeout. Called once, on any thread, never
  // under a lock.
  using Callback = std::function<void(const model::Outcome*, std::exception_ptr)>;

  explicit Waiters(store::Store& store);
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;
  // Ends the remaining waits with ShuttingDown.
  ~Waiters();

  // Returns the terminal outcome, or none when `at_most` is over first. `local`: a worker of this process has the
  // execution, so a wait for a new execution does not ask the store at once. Throws ResultExpired when the store has no
  // record of the execution. While the store cannot be reached the wait goes on; only a wait with an `at_most` of zero
  // throws StoreUnavailable.
  [[nodiscard]] std::optional<model::Outcome> wait(const Uuid& id, std::optional<Duration> at_most, bool local);

  using Token = std::uint64_t;
  // Returns at once; `callback` gets the outcome, or (nullptr, nullptr) when `at_most` is over first.
  Token watch(const Uuid& id, Callback callback, bool local, std::optional<Duration> at_most = std::nullopt);
  // Ends a watch. Returns false when its callback was called or is being called.
  bool unwatch(const Uuid& id, Token token);

  // An outcome that this process recorded. `keep`: remember the outcome for a wait that begins a little later.
  struct RecordedOutcome {
    model::Outcome outcome;
    bool keep = false;
  };
  void publish(const std::vector<RecordedOutcome>& recorded);
  [[nodiscard]] bool any() const { return count_.load(std::memory_order_relaxed) > 0; }

  // Polls new waits soon, because something changed in another process.
  void hint();
  void stop();

 private:
  struct Wait {
    Token token = 0;
    Callback callback;
    Time since{};
    Time poll_at{};
    Time until = never;
  };

  [[nodiscard]] Time step(Time now);
  // Reads and delivers the outcomes of these executions; returns an execution that is overdue, if there is one. Throws
  // StoreUnavailable. Another error of one execution, such as a result that cannot be decrypted, goes to its waits
  // alone.
  [[nodiscard]] std::optional<Uuid> poll(std::span<const Uuid> ids);
  void answer(const Uuid& id, const model::Outcome* outcome, const std::exception_ptr& error);
  void ensure_thread();
  void remember(const model::Outcome& outcome);  // holding mutex_

  store::Store& store_;
  std::mutex mutex_;  // guards the members below
  std::unordered_multimap<Uuid, Wait> waits_;
  std::unordered_map<Uuid, model::Outcome> recent_;  // for waits that begin later
  std::deque<Uuid> recent_order_;                    // ids in recent_, the oldest first
  Token last_token_ = 0;
  bool stopping_ = false;
  std::unique_ptr<StepThread> thread_;
  Time next_step_ = never;  // when the thread's next step is due
  std::atomic<int> count_{0};
};

}  // namespace hapax::engine
