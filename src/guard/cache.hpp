// Cache: recently completed records, kept in this process in front of a slow store. Bounded in number and in time. Any
// thread.
#pragma once

#include <hapax/guard_store.hpp>

#include "guard/fork.hpp"

#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace hapax::guard {

class Cache final : private ForkAware {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  struct Options {
    std::size_t records = 0;
    Duration at_most{0};
  };

  explicit Cache(const Options& options);
  ~Cache();

  // Returns none when the caller must ask the store, also for a record with another fingerprint.
  [[nodiscard]] std::optional<GuardRecord> find(const std::string& key,
                                                const std::optional<GuardFingerprint>& fingerprint, Instant now);
  // Keeps a completed record for `at_most`, or for `expires_in` if that is shorter.
  void keep(const std::string& key, const GuardRecord& record, std::optional<Duration> expires_in, Instant now);
  void drop(const std::string& key);

 private:
  struct Kept {
    GuardRecord record;
    Instant until;
    std::list<std::string>::iterator place;
  };

  void before_fork() override { mutex_.lock(); }
  void after_fork(bool /*in_child*/) override { mutex_.unlock(); }
  void erase(std::unordered_map<std::string, Kept>::iterator kept);

  const Options options_;
  std::mutex mutex_;
  std::unordered_map<std::string, Kept> records_;
  std::list<std::string> order_;  // the oldest first
};

}  // namespace hapax::guard
