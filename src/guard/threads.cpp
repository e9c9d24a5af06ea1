// Threads on which guarded calls wait for other callers: as many as needed, each kept for idle_time.
#include <hapax/detail/guard_call.hpp>

#include "guard/fork.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace hapax::detail {

namespace {

constexpr auto idle_time = std::chrono::seconds(10);
constexpr std::size_t most_threads = 4096;

// Never destroyed: its threads may outlive main. A forked child begins with no threads.
class Threads final : private guard::ForkAware {
 public:
  static Threads& instance() {
    static auto* const threads = new Threads;
    return *threads;
  }

  // False: no thread is available.
  bool run(std::function<void()>& work) {
    const std::lock_guard lock(mutex_);
    if (state_->idle <= state_->waiting.size()) {
      if (state_->threads >= most_threads) { return false; }
      try {
        std::thread([this] { serve(); }).detach();
      } catch (const std::system_error&) { return false; }
      ++state_->threads;
      ++state_->idle;
    }
    state_->waiting.push_back(std::move(work));
    state_->wake.notify_one();
    return true;
  }

 private:
  struct State {
    std::deque<std::function<void()>> waiting;
    std::condition_variable wake;
    std::size_t idle = 0;  // includes threads that are about to take work
    std::size_t threads = 0;
  };

  Threads() { enlist(); }
  void before_fork() override { mutex_.lock(); }
  void after_fork(bool in_child) override {
    // The old state is leaked, not destroyed: its condition variable counts threads that the child does not have.
    if (in_child) { state_ = new State; }
    mutex_.unlock();
  }

  void serve() {
    std::unique_lock lock(mutex_);
    State& state = *state_;
    for (;;) {
      const bool found = state.wake.wait_for(lock, idle_time, [&] { return !state.waiting.empty(); });
      --state.idle;
      if (!found) {
        --state.threads;
        return;
      }
      {
        const std::function<void()> work = std::move(state.waiting.front());
        state.waiting.pop_front();
        lock.unlock();
        work();
      }
      lock.lock();
      ++state.idle;
    }
  }

  std::mutex mutex_;
  State* state_ = new State;
};

}  // namespace

void run_aside(std::function<void()> work) {
  if (!Threads::instance().run(work)) { work(); }
}

}  // namespace hapax::detail
