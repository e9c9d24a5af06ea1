// Watchdog: ends attempts that run over their timeout or their execution's deadline, whether or not the handler
// returns, and reports handlers that do not return.
#pragma once

#include "engine/pool.hpp"
#include "engine/run.hpp"

#include <functional>
#include <mutex>
#include <queue>
#include <string_view>
#include <vector>

namespace hapax::engine {

// One thread calls step(); any thread may call the other members.
class Watchdog {
 public:
  // `patience`: how long a handler that was asked to stop may take to return, if longer than one second.
  Watchdog(engine::ThreadPool& pool, std::function<void(std::string_view)> on_trouble, Duration patience)
      : pool_(pool), on_trouble_(std::move(on_trouble)), patience_(patience) {}

  // Watches a run that has just started. Returns true when its limit is the next one due, so that the watchdog must be
  // woken.
  [[nodiscard]] bool watch(const engine::RunPtr& run);
  // Watches a run that was just asked to stop by a cancellation. Only after report_stuck() does such a run count as
  // stuck, and as cancelled, when its handler has not returned after the patience. Returns as watch() does.
  [[nodiscard]] bool watch_cancelled(const engine::RunPtr& run);
  // Makes step() call `on_stuck` for each handler that was asked to stop and has not returned after `patience`.
  void report_stuck(Duration patience, std::function<void(std::string_view)> on_stuck);
  [[nodiscard]] Time step(Time now);

 private:
  struct Entry {
    Time due;
    std::weak_ptr<engine::Run> run;
    enum class Kind : std::uint8_t { timeout, deadline, cancelled, stuck } kind;
    [[nodiscard]] bool operator>(const Entry& other) const { return due > other.due; }
  };

  [[nodiscard]] bool add(Entry entry);
  void expire(const engine::RunPtr& run, Entry::Kind kind, Time now);
  void expire_cancelled(const engine::RunPtr& run, Time now);
  void stuck(const engine::RunPtr& run, const char* after);
  void forget_ended();

  engine::ThreadPool& pool_;
  std::function<void(std::string_view)> on_trouble_;
  std::mutex mutex_;
  Duration patience_;                               // guarded by mutex_
  std::function<void(std::string_view)> on_stuck_;  // guarded by mutex_
  static constexpr std::size_t forget_min = 1024;
  std::size_t forget_at_ = forget_min;                                      // guarded by mutex_
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;  // guarded by mutex_
};

}  // namespace hapax::engine
