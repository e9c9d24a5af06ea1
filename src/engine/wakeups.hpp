// Wakeups: wakes the workers and waiters of this process when something changes.
//
// Workers of this process are woken directly. Hints from other processes come through Store::listen on one thread,
// started by the first listen() if the store is shared. Hints may be lost, so workers and waiters poll as well.
#pragma once

#include "engine/sweep_watch.hpp"
#include "model/execution.hpp"
#include "store/store.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace hapax::engine {

// A worker thread reserved for an execution, and the result: admitted and claimed for that thread (the admission has a
// fence), admitted without it, or unknown (no admission).
struct Reservation {
  model::BornRunning place;
  model::NewExecution* request = nullptr;
  const model::Admission* admission = nullptr;
};

// The interface through which enqueuing code reaches a worker of this process. Any thread may call it.
class LocalWorker {
 public:
  virtual ~LocalWorker() = default;
  // An execution of this queue is ready, or will be after `in`.
  virtual void queue_changed(const model::QueueRef& queue, Duration in) = 0;
  virtual void something_changed() = 0;
  // Reserves a free thread for an execution that is about to be admitted; none when no thread is free.
  [[nodiscard]] virtual std::optional<model::BornRunning> reserve(const model::QueueRef& queue, std::string_view task,
                                                                  model::Kind kind) = 0;
  // Ends reservations; those of other workers are ignored. All reservations of one transaction come in one call, so
  // that their runs begin together.
  virtual void reserved(std::span<const Reservation> reservations) = 0;
};

class Wakeups {
 public:
  explicit Wakeups(store::Store& store);
  Wakeups(const Wakeups&) = delete;
  Wakeups& operator=(const Wakeups&) = delete;
  ~Wakeups();

  // State of this process's sweeps.
  [[nodiscard]] SweepWatch& sweeps() { return sweeps_; }

  void add(const std::shared_ptr<LocalWorker>& worker);
  void remove(const LocalWorker* worker);

  void queue_changed(const model::QueueRef& queue, Duration in);
  void everything_changed();

  [[nodiscard]] std::optional<model::BornRunning> reserve(const model::QueueRef& queue, std::string_view task,
                                                          model::Kind kind);
  void reserved(std::span<const Reservation> reservations);

  // Starts receiving hints from other processes. Each hint also calls `on_hint`.
  void listen();
  void set_on_hint(std::function<void()> on_hint) { on_hint_ = std::move(on_hint); }
  void stop();

 private:
  void listen_loop();

  store::Store& store_;
  SweepWatch sweeps_;
  std::function<void()> on_hint_;  // set before any thread starts
  std::atomic<int> worker_count_{0};
  mutable std::shared_mutex workers_mutex_;
  std::vector<std::shared_ptr<LocalWorker>> workers_;  // guarded by workers_mutex_
  std::mutex listen_mutex_;
  std::unique_ptr<store::Listener> listener_;  // guarded by listen_mutex_
  bool stopping_ = false;                      // guarded by listen_mutex_
  std::thread thread_;
};

}  // namespace hapax::engine
