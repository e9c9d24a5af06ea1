// WakeHub: who in this process wants to know that something changed.
//
// Inside the process workers are woken directly. From other processes hints come through Store::listen on one thread,
// started with the first worker or waiter of a store that is shared. Hints may be lost: everybody polls as well.
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

// A thread that was kept for an execution, and what became of it: admitted and claimed for the thread (the admission has a
// fence), admitted otherwise, or, without an admission, not known.
struct Reservation {
  model::BornRunning place;
  model::NewExecution* request = nullptr;
  const model::Admission* admission = nullptr;
};

// A worker of this process, as those who enqueue see it. Called from any thread.
class LocalWorker {
 public:
  virtual ~LocalWorker() = default;
  // Something of this queue is or will be ready, `in` from now.
  virtual void queue_changed(const model::QueueRef& queue, Duration in) = 0;
  virtual void something_changed() = 0;
  // A free thread is kept for an execution that is about to be admitted; none when there is none.
  [[nodiscard]] virtual std::optional<model::BornRunning> reserve(const model::QueueRef& queue, std::string_view task,
                                                                  model::Kind kind) = 0;
  // The end of reservations, of this worker and others: those of one transaction together, so that they begin together.
  virtual void reserved(std::span<const Reservation> reservations) = 0;
};

// Told of what the engine does, for figures: on the threads that do it, so it returns at once. What is empty is not told.
struct EngineObserver {
  // One transaction of admissions, and how long the store took for it.
  std::function<void(std::span<const model::Admission>, Duration took)> admitted;
  std::function<void(const model::SweepReport&)> swept;
  std::function<void()> sweep_failed;
};

class WakeHub {
 public:
  explicit WakeHub(store::Store& store);
  WakeHub(const WakeHub&) = delete;
  WakeHub& operator=(const WakeHub&) = delete;
  ~WakeHub();

  // Set once, before anything is asked of the engine.
  void observe(EngineObserver observer) { observer_ = std::move(observer); }
  [[nodiscard]] const EngineObserver& observer() const { return observer_; }

  // How the sweeps of this process go.
  [[nodiscard]] SweepWatch& sweeps() { return sweeps_; }

  void add(const std::shared_ptr<LocalWorker>& worker);
  void remove(const LocalWorker* worker);

  void queue_changed(const model::QueueRef& queue, Duration in);
  void everything_changed();

  [[nodiscard]] std::optional<model::BornRunning> reserve(const model::QueueRef& queue, std::string_view task,
                                                          model::Kind kind);
  void reserved(std::span<const Reservation> reservations);

  // Hints from other processes from now on; `on_hint` is told too.
  void listen();
  void set_on_hint(std::function<void()> on_hint) { on_hint_ = std::move(on_hint); }
  void stop();

 private:
  void listen_loop();

  store::Store& store_;
  EngineObserver observer_;
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
