// GuardHeartbeat: renews all holds of this process in one store, on one thread, for all guards of that store.
//
// A call links itself in when it begins and out when it has ended, which costs a few dozen nanoseconds under the lock
// of its thread's own shard and never wakes the heartbeat's thread. The thread starts with the first call, beats at the
// shortest interval of all guards, and ends with the last guard. After a fork the child has no such thread and holds
// nothing.
#pragma once

#include <hapax/detail/guard_call.hpp>
#include <hapax/guard_store.hpp>

#include "guard/fork.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hapax::guard {

// Returns how often a hold with this takeover_after is renewed.
[[nodiscard]] Duration beat_interval(const std::optional<Duration>& takeover_after);

class GuardHeartbeat final : private ForkAware {
 public:
  using OnTrouble = std::function<void(const std::string& key, const std::string& message)>;

  explicit GuardHeartbeat(GuardStorePtr store);
  ~GuardHeartbeat();

  // Returns the heartbeat of a store: made with the first guard, shared by all guards.
  [[nodiscard]] static std::shared_ptr<GuardHeartbeat> of(const GuardStorePtr& store);

  // Adds and removes a guard. `trouble` is called on the heartbeat's thread.
  void join(const void* guard, Duration interval, OnTrouble trouble);
  void leave(const void* guard);

  void link(detail::GuardBeatNode& node, const GuardHold& hold);
  void unlink(detail::GuardBeatNode& node) noexcept;

 private:
  struct Member {
    const void* guard;
    Duration interval;
    OnTrouble trouble;
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    detail::GuardBeatNode* first = nullptr;
    std::uint64_t serial = 0;
  };
  static constexpr unsigned shard_count = 16;

  void before_fork() override;
  void after_fork(bool in_child) override;
  void start();
  [[nodiscard]] bool beat();
  void warn(const std::string& key, const std::string& message);
  [[nodiscard]] Duration interval() const;  // under mutex_

  const GuardStorePtr store_;
  std::array<Shard, shard_count> shards_;
  std::atomic<bool> started_{false};
  // On the heap: a forked child can neither join nor destroy the std::thread of a thread that it does not have, and
  // that thread may be waiting on the condition.
  struct Runner {
    std::thread thread;
    std::condition_variable wake;
    bool stop = false;
  };
  void run(Runner& runner);

  Runner* runner_ = nullptr;  // under mutex_
  std::mutex mutex_;
  std::vector<Member> members_;
};

}  // namespace hapax::guard
