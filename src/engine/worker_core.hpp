// WorkerCore: all parts of a worker with their threads.
//
// Owned together by its Worker, the Wakeups and handlers' threads; a WorkerCore lives until the last of them releases
// it.
#pragma once

#include "engine/dispatcher.hpp"
#include "engine/engine.hpp"
#include "engine/heartbeat.hpp"
#include "engine/pool.hpp"
#include "engine/session.hpp"
#include "engine/step_thread.hpp"
#include "engine/wakeups.hpp"
#include "engine/watchdog.hpp"
#include "engine/worker.hpp"
#include "engine/workflow_pool.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_set>

namespace hapax::engine {

// The name of this machine.
[[nodiscard]] std::string host_name();

class WorkerCore final : public LocalWorker, public std::enable_shared_from_this<WorkerCore> {
 public:
  // `engine` has the same store; null: a worker of a server. The Worker has checked and completed the options.
  WorkerCore(std::shared_ptr<Engine> engine, std::shared_ptr<store::WorkStore> store, WorkerOptions options,
             Handler handler);
  ~WorkerCore() override;

  void start();
  void stop(Duration grace);
  bool wait_until_empty(std::optional<Duration> at_most);
  void set_tasks(std::vector<std::string> tasks);
  void report_stuck(Duration patience, std::function<void(std::string_view)> on_stuck);
  [[nodiscard]] WorkerStats stats() const;
  [[nodiscard]] Uuid session() const { return session_.id(); }
  [[nodiscard]] const WorkerOptions& options() const { return options_; }

  void queue_changed(const model::QueueRef& queue, Duration in) override;
  void something_changed() override;
  [[nodiscard]] std::optional<model::BornRunning> reserve(const model::QueueRef& queue, std::string_view task,
                                                          model::Kind kind) override;
  void reserved(std::span<const Reservation> reservations) override;

 private:
  // Returns the run that was claimed for a reservation of this worker, or null.
  [[nodiscard]] RunPtr take_up(const Reservation& reservation);
  void started(const RunPtr& run);
  void cancelling(const RunPtr& run);
  void answered(std::span<const Settled> batch, std::span<const model::FinishVerdict> verdicts);
  void trouble(std::string_view what) const;
  [[nodiscard]] bool serves(const model::QueueRef& queue) const;
  // Whether `queue` is one of the worker's queues, or the queue of questions to its workflows.
  [[nodiscard]] bool claims_from(const model::QueueRef& queue) const;
  [[nodiscard]] bool queues_are_empty();
  [[nodiscard]] bool wait_all_sent(Time until);
  void ensure_watchdog_thread();

  const std::shared_ptr<Engine> engine_;  // null: enqueuing code of this process cannot reserve the worker's threads
  const std::shared_ptr<store::WorkStore> store_;
  WorkerOptions options_;
  Session session_;
  std::shared_ptr<ThreadPool> pool_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<Heartbeat> heartbeat_;
  std::unique_ptr<Watchdog> watchdog_;
  std::shared_ptr<TroubleListener> sweep_trouble_;  // null: this worker does not sweep
  std::unique_ptr<StepThread> dispatcher_thread_;
  std::unique_ptr<StepThread> heartbeat_thread_;
  std::mutex watchdog_mutex_;
  std::unique_ptr<StepThread> watchdog_thread_;  // guarded by watchdog_mutex_
  std::atomic<bool> draining_{false};
  std::atomic<bool> stopped_{false};
  std::mutex stop_mutex_;  // held during stop(), so that one stop runs at a time
  std::atomic<int> reserved_{0};
  std::atomic<int> watchers_{0};  // callers that wait for the queues to be empty
  std::mutex answered_mutex_;
  std::condition_variable answered_condition_;  // outcomes were recorded, or the worker stops
  mutable std::mutex tasks_mutex_;
  std::unordered_set<std::string> tasks_;  // guarded by tasks_mutex_; empty: any
};

}  // namespace hapax::engine
