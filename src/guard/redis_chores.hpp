// RedisChores: what a store has yet to do at its server, and what a fork must not leave locked.
//
// A begin whose answer did not come is a doubt: the server may have taken it, or take it yet, and nobody runs it. It is
// taken back by the next verb that reaches the server; until then its key is held, for ever where nobody may take over.
// Any thread. In a forked child the parent's doubts are the parent's.
#pragma once

#include "guard/fork.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace hapax::guard {

class RedisChores final : private ForkAware {
 public:
  struct Doubt {
    std::string record;  // the record's key at the server
    std::string member;  // its entry in the index
    std::string token;
  };
  // Each is a call that threw; the oldest are dropped beyond this.
  static constexpr std::size_t most_doubts = 10'000;

  RedisChores() { enlist(); }
  ~RedisChores() { retire(); }

  [[nodiscard]] bool has_doubts() const { return any_.load(std::memory_order_relaxed); }
  void add(std::vector<Doubt> doubts);
  [[nodiscard]] std::vector<Doubt> take_doubts();

  // The last entry of the index that a sweep has looked at.
  [[nodiscard]] std::string swept_to();
  void swept_to(std::string member);

 private:
  void before_fork() override { mutex_.lock(); }
  void after_fork(bool in_child) override;

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<Doubt> doubts_;
  std::string swept_to_;
};

}  // namespace hapax::guard
