// Clock: the source of time. The system's in production, set by hand in tests and in the simulator.
#pragma once

#include <hapax/time.hpp>

#include <atomic>
#include <chrono>
#include <memory>

namespace hapax::base {

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time now() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
};

// A clock that stands still until advance() moves it. Any thread may read or move it.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start) : now_us_(start.time_since_epoch().count()) {}
  [[nodiscard]] Time now() const override { return Time(Duration(now_us_.load())); }
  void advance(Duration by) { now_us_.fetch_add(by.count()); }

 private:
  std::atomic<std::int64_t> now_us_;
};

}  // namespace hapax::base
