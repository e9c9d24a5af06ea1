// StepThread: a thread that calls a step, a function that does what is due and returns when to call it again.
#pragma once

#include <hapax/time.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace hapax::engine {

// The engine's clock. It is monotonic, so a stepped wall clock neither delays nor hurries a heartbeat. Only differences
// between its times mean anything.
[[nodiscard]] Time engine_now();

// No next step unless woken.
inline constexpr Time never = Time::max();
// The longest wait of any caller; a longer wait would overflow the clock.
inline constexpr Duration longest_wait = std::chrono::hours(24 * 365);

// mark_engine_thread() marks the calling thread as the engine's own. Such a thread must not destroy the engine, as it
// would wait for its own end.
[[nodiscard]] bool on_engine_thread();
void mark_engine_thread();
// While it lives, the calling thread counts as one of the engine's own.
class EngineThreadScope {
 public:
  EngineThreadScope();
  EngineThreadScope(const EngineThreadScope&) = delete;
  EngineThreadScope& operator=(const EngineThreadScope&) = delete;
  ~EngineThreadScope();

 private:
  const bool before_;
};

// Any thread may call wake(), at any rate: while a wakeup is pending, another wake() costs one atomic read. The owner
// calls start() and stop(). The step must not throw.
class StepThread {
 public:
  using Step = std::function<Time(Time now)>;

  explicit StepThread(Step step) : step_(std::move(step)) {}
  StepThread(const StepThread&) = delete;
  StepThread& operator=(const StepThread&) = delete;
  // Calls stop().
  ~StepThread();

  void start();
  // A wakeup before start() is kept for the first step.
  void wake();
  // Returns when the current step has ended; no further one begins.
  void stop();

 private:
  void loop();

  Step step_;
  std::atomic<bool> woken_{false};
  std::mutex mutex_;
  std::condition_variable condition_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hapax::engine
