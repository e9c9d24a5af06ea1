// RunPool: where claimed runs wait for a thread and decided ones wait for the dispatcher.
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
  double runs_per_second = 0;         // what the threads get through, by measure; 0: nothing is known yet
  std::optional<Time> oldest_queued;  // when the first of the queued came here
};

// The dispatcher's view; the simulator has another one.
class RunPool {
 public:
  virtual ~RunPool() = default;
  virtual void submit(std::vector<RunPtr> runs) = 0;
  // Appends what was decided since the last call.
  virtual void collect(std::vector<Settled>& into) = 0;
  // Takes back runs that no thread has started, the newest first.
  virtual void withdraw(std::vector<RunPtr>& into) = 0;
  [[nodiscard]] virtual PoolLoad load() = 0;
  // Gives what waits behind a slow handler to other threads.
  virtual void rebalance(Time now) = 0;
};

// Threads that call the handler. They take runs in chunks while handlers are quick, and keep decided outcomes in a
// buffer each, so that a task costs no more than a lock nobody else wants. A handler that never returns keeps its
// thread; replace() puts another one in its place.
class ThreadPool final : public RunPool, public std::enable_shared_from_this<ThreadPool> {
 public:
  struct Options {
    int threads = 1;
    Handler handler;
    std::function<void(const RunPtr&)> on_start;  // on the handler's thread, before the handler
    std::function<void()> on_settled;             // there is something to collect
  };

  explicit ThreadPool(Options options);
  ~ThreadPool() override;
  // Before start().
  void set_callbacks(std::function<void(const RunPtr&)> on_start, std::function<void()> on_settled);
  // Separate from construction, as the threads keep the pool alive.
  void start();
  // Waits for the threads until `until`; those that are still in a handler then are left to themselves and end with it.
  void stop(Time until);
  // stop() does not wait for threads that are taken for stuck.
  void leave_stuck() { leave_stuck_.store(true, std::memory_order_relaxed); }
  // From here no handler is started; what waits stays for withdraw().
  void hold() { holding_.store(true, std::memory_order_relaxed); }

  void submit(std::vector<RunPtr> runs) override;
  void collect(std::vector<Settled>& into) override;
  void withdraw(std::vector<RunPtr>& into) override;
  [[nodiscard]] PoolLoad load() override;
  void rebalance(Time now) override;

  // The load without touching the measure.
  [[nodiscard]] PoolLoad glance();
  // Threads waiting for something to do.
  [[nodiscard]] int idle() const { return idle_.load(std::memory_order_relaxed); }
  // An outcome decided by somebody else than the handler's thread (the watchdog, a shutdown).
  void push(Settled settled);
  // The thread that runs this one is taken for stuck: another takes its place, while fewer than four times the threads
  // are stuck. Returns false when the run is over or there are too many.
  bool replace(const Run& run);

 private:
  struct Lane {
    std::mutex mutex;  // guards what follows
    std::deque<RunPtr> todo;
    std::vector<Settled> done;
    RunPtr current;
    double busy_seconds = 0;  // since the last load()
    std::int64_t runs = 0;
    bool surplus = false;  // replaced: ends after its handler
    bool ended = false;
    std::thread thread;  // guarded by the pool's mutex
  };
  using LanePtr = std::shared_ptr<Lane>;

  void add_lane();
  void loop(const LanePtr& lane);
  [[nodiscard]] RunPtr next(Lane& lane);
  [[nodiscard]] RunPtr steal(const Lane& thief);
  void execute(Lane& lane, const RunPtr& run);

  Options options_;
  std::mutex mutex_;
  std::condition_variable work_;   // something to run, or stopping
  std::condition_variable ended_;  // a thread ended
  std::deque<RunPtr> queue_;
  std::vector<LanePtr> lanes_;
  std::vector<Settled> pushed_;
  bool stopping_ = false;
  std::atomic<bool> holding_{false};
  std::atomic<bool> leave_stuck_{false};
  int stuck_ = 0;
  std::atomic<int> idle_{0};
  std::atomic<double> average_{0};  // seconds a handler runs; 0: unknown
};

}  // namespace hapax::engine
