// StepThread: the thin shell that turns a step ("do what is due, say when to call again") into a thread.
#pragma once

#include <hapax/time.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace hapax::engine {

// Time as the engine counts it: monotonic, so that a stepped wall clock neither delays a beat nor hurries one. Only
// differences mean anything.
[[nodiscard]] Time engine_now();

// Processor time that the calling thread has had so far.
[[nodiscard]] Duration thread_cpu_time();

// "Never, unless woken."
inline constexpr Time never = Time::max();
// No caller waits longer: more would overflow the clock.
inline constexpr Duration longest_wait = std::chrono::hours(24 * 365);

// Marks a thread that the engine owns, and so must never be the one to destroy it: it would wait for its own end.
[[nodiscard]] bool on_engine_thread();
void mark_engine_thread();

// Owned by whoever starts it. wake() may be called from any thread, at any rate: while a wake-up is pending a further
// one costs one atomic read. The step must not throw.
class StepThread {
 public:
  using Step = std::function<Time(Time now)>;

  explicit StepThread(Step step) : step_(std::move(step)) {}
  StepThread(const StepThread&) = delete;
  StepThread& operator=(const StepThread&) = delete;
  // stop().
  ~StepThread();

  void start();
  // Before start() it is kept for the first step.
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
