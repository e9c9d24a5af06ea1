// Watchdog: ends attempts that run over their timeout or their execution's deadline, whether or not the handler returns,
// and tells of handlers that do not.
#pragma once

#include "engine/pool.hpp"
#include "engine/run.hpp"

#include <functional>
#include <mutex>
#include <queue>
#include <string_view>
#include <vector>

namespace hapax::engine {

// step() is called by one thread, the rest by any.
class Watchdog {
 public:
  // `patience`: how long, beyond the usual second, a handler may take to return once it was told to stop.
  Watchdog(ThreadPool& pool, std::function<void(std::string_view)> on_trouble, Duration patience)
      : pool_(pool), on_trouble_(std::move(on_trouble)), patience_(patience) {}

  // A run that has just started. True when its limit is the next one due, so that the watchdog must be woken.
  [[nodiscard]] bool watch(const RunPtr& run);
  // A run that was just told of its cancellation. Only where stuck handlers are told of does it count as stuck, and as
  // cancelled, when its handler has not returned after the patience. Returns as watch().
  [[nodiscard]] bool watch_cancelled(const RunPtr& run);
  // From here each handler that was told to stop and has not returned after `patience` is told of, on step()'s thread.
  void tell_stuck(Duration patience, std::function<void(std::string_view)> on_stuck);
  [[nodiscard]] Time step(Time now);

 private:
  struct Entry {
    Time due;
    std::weak_ptr<Run> run;
    enum class Kind : std::uint8_t { timeout, deadline, cancelled, stuck } kind;
    [[nodiscard]] bool operator>(const Entry& other) const { return due > other.due; }
  };

  [[nodiscard]] bool add(Entry entry);
  void expire(const RunPtr& run, Entry::Kind kind, Time now);
  void expire_cancelled(const RunPtr& run, Time now);
  void stuck(const RunPtr& run, const char* after);
  void forget_ended();

  ThreadPool& pool_;
  std::function<void(std::string_view)> on_trouble_;
  std::mutex mutex_;
  Duration patience_;                               // guarded by mutex_
  std::function<void(std::string_view)> on_stuck_;  // guarded by mutex_
  static constexpr std::size_t forget_min = 1024;
  std::size_t forget_at_ = forget_min;                                      // guarded by mutex_
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;  // guarded by mutex_
};

}  // namespace hapax::engine
