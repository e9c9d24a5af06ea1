#include "guard/redis_chores.hpp"

#include <iterator>
#include <utility>

namespace hapax::guard {

void RedisChores::add(std::vector<Doubt> doubts) {
  const std::lock_guard lock(mutex_);
  std::move(doubts.begin(), doubts.end(), std::back_inserter(doubts_));
  if (doubts_.size() > most_doubts) {
    doubts_.erase(doubts_.begin(), doubts_.end() - static_cast<std::ptrdiff_t>(most_doubts));
  }
  any_.store(!doubts_.empty(), std::memory_order_relaxed);
}

std::vector<RedisChores::Doubt> RedisChores::take_doubts() {
  const std::lock_guard lock(mutex_);
  any_.store(false, std::memory_order_relaxed);
  return std::exchange(doubts_, {});
}

std::string RedisChores::swept_to() {
  const std::lock_guard lock(mutex_);
  return swept_to_;
}

void RedisChores::swept_to(std::string member) {
  const std::lock_guard lock(mutex_);
  swept_to_ = std::move(member);
}

void RedisChores::after_fork(bool in_child) {
  if (in_child) {
    doubts_.clear();
    any_.store(false, std::memory_order_relaxed);
  }
  mutex_.unlock();
}

}  // namespace hapax::guard
