// RedisChores: the work that a store still has to do at its server, kept safe across forks.
//
// A begin without an answer is a doubt: the server may have executed it, or may still do so, and nobody runs the call.
// The next verb that reaches the server undoes the begin; until then its key is locked, for ever if takeover is not
// allowed. Any thread. A forked child drops the parent's doubts.
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
  // Beyond this number the oldest doubts are dropped.
  static constexpr std::size_t most_doubts = 10'000;

  RedisChores() { enlist(); }
  ~RedisChores() { retire(); }

  [[nodiscard]] bool has_doubts() const { return any_.load(std::memory_order_relaxed); }
  void add(std::vector<Doubt> doubts);
  [[nodiscard]] std::vector<Doubt> take_doubts();

  // The last entry of the index that a sweep has read.
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
