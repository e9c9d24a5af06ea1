// Seen: ids that this server has told a namespace of, so that one whose record has gone meanwhile is told as expired
// (410) and not as never there (404). A memory of this process and bounded: what it has forgotten is 404.
#pragma once

#include <hapax/uuid.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>

namespace hapax::server {

// Any thread.
class Seen {
 public:
  void add(const std::string& ns, const Uuid& id) {
    const std::lock_guard lock(mutex_);
    if (!spaces_.emplace(id, std::hash<std::string>{}(ns)).second) { return; }
    order_.push_back(id);
    if (order_.size() > most) {
      spaces_.erase(order_.front());
      order_.pop_front();
    }
  }

  [[nodiscard]] bool has(const std::string& ns, const Uuid& id) {
    const std::lock_guard lock(mutex_);
    const auto found = spaces_.find(id);
    return found != spaces_.end() && found->second == std::hash<std::string>{}(ns);
  }

 private:
  static constexpr std::size_t most = 50'000;

  std::mutex mutex_;
  std::unordered_map<Uuid, std::size_t> spaces_;  // the namespace's hash
  std::deque<Uuid> order_;
};

}  // namespace hapax::server
