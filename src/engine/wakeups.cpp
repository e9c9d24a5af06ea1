#include "engine/wakeups.hpp"

#include <algorithm>
#include <exception>

namespace hapax::engine {

namespace {
constexpr Duration listen_wait = std::chrono::seconds(1);
}  // namespace

Wakeups::Wakeups(store::Store& store) : store_(store) {}

Wakeups::~Wakeups() { stop(); }

void Wakeups::add(const std::shared_ptr<LocalWorker>& worker) {
  const std::unique_lock lock(workers_mutex_);
  workers_.push_back(worker);
  worker_count_.store(static_cast<int>(workers_.size()));
}

void Wakeups::remove(const LocalWorker* worker) {
  std::shared_ptr<LocalWorker> last;  // destroyed after the lock is released
  const std::unique_lock lock(workers_mutex_);
  const auto found = std::ranges::find_if(workers_, [&](const auto& each) { return each.get() == worker; });
  if (found != workers_.end()) {
    last = std::move(*found);
    workers_.erase(found);
  }
  worker_count_.store(static_cast<int>(workers_.size()));
}

void Wakeups::queue_changed(const model::QueueRef& queue, Duration in) {
  if (worker_count_.load(std::memory_order_relaxed) == 0) { return; }
  const std::shared_lock lock(workers_mutex_);
  for (const auto& worker : workers_) { worker->queue_changed(queue, in); }
}

void Wakeups::everything_changed() {
  const std::shared_lock lock(workers_mutex_);
  for (const auto& worker : workers_) { worker->something_changed(); }
}

std::optional<model::BornRunning> Wakeups::reserve(const model::QueueRef& queue, std::string_view task,
                                                   model::Kind kind) {
  if (worker_count_.load(std::memory_order_relaxed) == 0) { return std::nullopt; }
  const std::shared_lock lock(workers_mutex_);
  for (const auto& worker : workers_) {
    if (auto reservation = worker->reserve(queue, task, kind)) { return reservation; }
  }
  return std::nullopt;
}

void Wakeups::reserved(std::span<const Reservation> reservations) {
  const std::shared_lock lock(workers_mutex_);
  for (const auto& worker : workers_) { worker->reserved(reservations); }
}

void Wakeups::listen() {
  const std::lock_guard lock(listen_mutex_);
  if (!thread_.joinable() && !stopping_ && store_.info().capabilities.shared) {
    thread_ = std::thread([this] { listen_loop(); });
  }
}

void Wakeups::listen_loop() {
  while (true) {
    store::Listener* listener = nullptr;
    try {
      auto fresh = store_.listen();
      const std::lock_guard lock(listen_mutex_);
      if (stopping_) { return; }
      listener_ = std::move(fresh);
      listener = listener_.get();
    } catch (const std::exception&) {
      // Without a listener no hints come for a while; workers and waiters still poll.
      std::unique_lock lock(listen_mutex_);
      if (stopping_) { return; }
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
      continue;
    }
    try {
      while (true) {
        const bool changed = listener->wait(listen_wait);
        {
          const std::lock_guard lock(listen_mutex_);
          if (stopping_) { return; }
        }
        if (changed) {
          everything_changed();
          if (on_hint_) { on_hint_(); }
        }
      }
    } catch (const std::exception&) {
      const std::lock_guard lock(listen_mutex_);
      listener_.reset();
    }
  }
}

void Wakeups::stop() {
  {
    const std::lock_guard lock(listen_mutex_);
    stopping_ = true;
    if (listener_) { listener_->interrupt(); }
  }
  if (thread_.joinable()) { thread_.join(); }
}

}  // namespace hapax::engine
