// RunPool: holds claimed runs until a thread takes them, and their outcomes until the dispatcher collects them.
#pragma once

#include "engine/outcome.hpp"
#include "engine/run.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace hapax::engine {

struct PoolLoad {
  int threads = 1;
  int queued = 0;
  int running = 0;
  double runs_per_second = 0;         // measured rate of all threads; 0: not known yet
  std::optional<Time> oldest_queued;  // when the oldest queued run was claimed
};

// The dispatcher's view of a pool; the simulator (tests/engine/world.hpp) has another implementation.
class RunPool {
 public:
  virtual ~RunPool() = default;
  virtual void submit(std::vector<RunPtr> runs) = 0;
  // Appends the outcomes that were decided since the last call.
  virtual void collect(std::vector<Settled>& into) = 0;
  // Takes back all runs that no thread has started.
  virtual void withdraw(std::vector<RunPtr>& into) = 0;
  [[nodiscard]] virtual PoolLoad load() = 0;
  // Gives runs that wait behind a slow handler to other threads.
  virtual void rebalance(Time now) = 0;
};

// The threads that call the handler. While handlers are quick, a thread takes runs in chunks and keeps their outcomes
// in a buffer of its own, so that a task costs only an uncontended lock. A handler that never returns keeps its thread;
// replace() starts another thread in its place.
class ThreadPool final : public RunPool, public std::enable_shared_from_this<ThreadPool> {
 public:
  struct Options {
    int threads = 1;
    Handler handler;
    std::function<void(const RunPtr&)> on_start;  // on the handler's thread, before the handler
    std::function<void()> on_settled;             // there are outcomes to collect
  };

  explicit ThreadPool(Options options);
  ~ThreadPool() override;
  // Call this before start().
  void set_callbacks(std::function<void(const RunPtr&)> on_start, std::function<void()> on_settled);
  // Starts the threads. The constructor cannot, as the threads share ownership of the pool.
  void start();
  // Waits for the threads until `until`. A thread that is still in a handler then is detached and ends when the handler
  // returns.
  void stop(Time until);
  // Makes stop() not wait for threads that count as stuck.
  void leave_stuck() { leave_stuck_.store(true, std::memory_order_relaxed); }
  // After this no handler is started; waiting runs stay for withdraw().
  void hold() { holding_.store(true, std::memory_order_relaxed); }

  void submit(std::vector<RunPtr> runs) override;
  void collect(std::vector<Settled>& into) override;
  void withdraw(std::vector<RunPtr>& into) override;
  [[nodiscard]] PoolLoad load() override;
  void rebalance(Time now) override;

  // Returns the load without resetting the measurements of load().
  [[nodiscard]] PoolLoad glance();
  // The number of threads that have nothing to run.
  [[nodiscard]] int idle() const { return idle_.load(std::memory_order_relaxed); }
  // Adds an outcome that the watchdog or a shutdown decided, not the handler's thread.
  void push(Settled settled);
  // Marks the thread of `run` as stuck and starts another in its place, while fewer than four per pool thread are
  // stuck. Returns false when the run is over, too many are stuck, or the pool is stopping.
  bool replace(const Run& run);

 private:
  // A thread with the runs it has taken and their outcomes.
  struct HandlerThread {
    std::mutex mutex;  // guards the members below
    std::deque<RunPtr> todo;
    std::vector<Settled> done;
    RunPtr current;
    double busy_seconds = 0;  // since the last load()
    std::int64_t runs = 0;
    bool surplus = false;  // the thread was replaced and ends after its handler
    bool ended = false;
    std::thread handle;  // guarded by the pool's mutex
  };
  using HandlerThreadPtr = std::shared_ptr<HandlerThread>;

  void add_thread();
  void loop(const HandlerThreadPtr& thread);
  [[nodiscard]] RunPtr next(HandlerThread& thread);
  [[nodiscard]] RunPtr steal(const HandlerThread& thief);
  void execute(HandlerThread& thread, const RunPtr& run);

  Options options_;
  std::mutex mutex_;
  std::condition_variable work_;   // a run was queued, or the pool stops
  std::condition_variable ended_;  // a thread ended
  std::deque<RunPtr> queue_;
  std::vector<HandlerThreadPtr> threads_;
  std::vector<Settled> pushed_;
  bool stopping_ = false;
  std::atomic<bool> holding_{false};
  std::atomic<bool> leave_stuck_{false};
  int stuck_ = 0;
  std::atomic<int> idle_{0};
  std::atomic<double> average_{0};  // seconds a handler runs; 0: unknown
};

}  // namespace hapax::engine
