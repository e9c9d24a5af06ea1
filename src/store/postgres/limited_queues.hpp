// LimitedQueues: the queues that have limits or limit keys, as far as this process has noticed. Any thread may use it.
//
// The set is only a hint that saves a look-up: a claim that passes over a queue with limits reports it, and a claim
// that finds a remembered queue without limits removes it.
#pragma once

#include "model/execution.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace hapax::store::postgres {

class LimitedQueues {
 public:
  void add(const model::QueueRef& queue) {
    const std::lock_guard lock(mutex_);
    queues_.insert(queue);
  }
  void remove(const model::QueueRef& queue) {
    const std::lock_guard lock(mutex_);
    queues_.erase(queue);
  }
  [[nodiscard]] bool contains(const model::QueueRef& queue) const {
    const std::lock_guard lock(mutex_);
    return queues_.contains(queue);
  }
  [[nodiscard]] bool contains_any(const std::vector<model::QueueRef>& queues) const {
    const std::lock_guard lock(mutex_);
    return !queues_.empty() &&
           std::any_of(queues.begin(), queues.end(), [&](const auto& queue) { return queues_.contains(queue); });
  }

 private:
  mutable std::mutex mutex_;
  std::set<model::QueueRef> queues_;
};

// LookPositions: where the last search for parked keys of a queue ended, so that the next one continues there. Any
// thread may use it.
class LookPositions {
 public:
  // (queue, limit key). The search over all queues is stored under queue 0.
  using Place = std::pair<std::int32_t, std::string>;

  [[nodiscard]] Place get(std::int32_t look) const {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(look);
    return found == places_.end() ? Place(look, "") : found->second;
  }
  void set(std::int32_t look, const Place& place) {
    const std::lock_guard lock(mutex_);
    places_.insert_or_assign(look, place);
  }
  void begin_anew(std::int32_t look) {
    const std::lock_guard lock(mutex_);
    places_.erase(look);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::int32_t, Place> places_;
};

}  // namespace hapax::store::postgres
