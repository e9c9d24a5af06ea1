// Waiters: everybody in this process who waits for an execution to end.
//
// An outcome recorded by a worker of this process is passed on at once. For all others one thread asks the store for
// all of them together, from every 2 ms for fresh waits to every 200 ms for old ones. Any thread may call.
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
  // (outcome, nullptr) or (nullptr, error), or neither when its time was over. Called once, on some thread, never under a lock.
  using Callback = std::function<void(const model::Outcome*, std::exception_ptr)>;

  explicit Waiters(store::Store& store);
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;
  // Those who still wait get ShuttingDown.
  ~Waiters();

  // The terminal outcome, or none when `at_most` is over first. `local` says that a worker of this process has the
  // execution, so that there is no point in asking the store at once if it is new. Throws ResultExpired when the store has no
  // record of it. While the store can't be reached it goes on waiting; only who looks once, with an `at_most` of zero, gets
  // StoreUnavailable.
  [[nodiscard]] std::optional<model::Outcome> wait(const Uuid& id, std::optional<Duration> at_most, bool local);

  using Token = std::uint64_t;
  // When `at_most` is over first, the callback gets (nullptr, nullptr).
  Token watch(const Uuid& id, Callback callback, bool local, std::optional<Duration> at_most = std::nullopt);
  // False when the callback was or is being called.
  bool unwatch(const Uuid& id, Token token);

  // Outcomes that this process recorded. `keep` remembers it for a wait that begins a little later.
  struct News {
    model::Outcome outcome;
    bool keep = false;
  };
  void publish(const std::vector<News>& news);
  [[nodiscard]] bool any() const { return count_.load(std::memory_order_relaxed) > 0; }

  // Something changed in another process.
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
  void answer(const Uuid& id, const model::Outcome* outcome, const std::exception_ptr& error);
  void ensure_thread();
  void remember(const model::Outcome& outcome);  // holding mutex_

  store::Store& store_;
  std::mutex mutex_;  // guards what follows
  std::unordered_multimap<Uuid, Wait> waits_;
  std::unordered_map<Uuid, model::Outcome> recent_;  // for waits that begin later
  std::deque<Uuid> recent_order_;                    // of those, the oldest first
  Token last_token_ = 0;
  bool stopping_ = false;
  std::unique_ptr<StepThread> thread_;
  Time next_step_ = never;  // when the thread looks again by itself
  std::atomic<int> count_{0};
};

}  // namespace hapax::engine
