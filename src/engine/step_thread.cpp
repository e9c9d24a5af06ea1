#include "engine/step_thread.hpp"

#include <algorithm>
#include <utility>

namespace hapax::engine {

namespace {
// Bounds one sleep, so that arithmetic on `never` cannot overflow.
constexpr Duration longest_sleep = std::chrono::hours(1);
thread_local bool engine_thread = false;
}  // namespace

bool on_engine_thread() { return engine_thread; }
void mark_engine_thread() { engine_thread = true; }
EngineThreadScope::EngineThreadScope() : before_(std::exchange(engine_thread, true)) {}
EngineThreadScope::~EngineThreadScope() { engine_thread = before_; }

Time engine_now() {
  return Time(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

void StepThread::start() {
  thread_ = std::thread([this] { loop(); });
}

StepThread::~StepThread() { stop(); }

void StepThread::wake() {
  if (woken_.load(std::memory_order_seq_cst) || woken_.exchange(true, std::memory_order_seq_cst)) { return; }
  { const std::lock_guard lock(mutex_); }
  condition_.notify_one();
}

void StepThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  condition_.notify_one();
  if (thread_.joinable()) { thread_.join(); }
}

void StepThread::loop() {
  mark_engine_thread();
  while (true) {
    // Cleared before the step reads its inputs: the step either sees a later change, or that change sets the flag
    // again.
    woken_.store(false, std::memory_order_seq_cst);
    const Time next = step_(engine_now());
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return stopping_ || woken_.load(std::memory_order_seq_cst); };
    if (!ready()) {
      const Time now = engine_now();
      if (next > now) {
        condition_.wait_for(lock, next == never ? longest_sleep : std::min(next - now, longest_sleep), ready);
      }
    }
    if (stopping_) { return; }
  }
}

}  // namespace hapax::engine
