// What a hapax::Worker has: the engine's worker, and the listener that must not be called once it is gone.
#pragma once

#include "engine/worker.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace hapax::detail {

// The ticker is the process's and outlives a worker, whose listener it must not call then.
class TroubleListener {
 public:
  explicit TroubleListener(std::function<void(std::string_view)> listener)
      : listener_(std::make_shared<const std::function<void(std::string_view)>>(std::move(listener))) {}

  void tell(std::string_view text) {
    const std::lock_guard lock(mutex_);
    const auto listener = listener_;  // kept while it is called, as it may be the one that ends the worker
    if (listener && *listener) { (*listener)(text); }
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    listener_.reset();
  }

 private:
  std::recursive_mutex mutex_;
  std::shared_ptr<const std::function<void(std::string_view)>> listener_;
};

class WorkerState {
 public:
  void forget_listener() const {
    if (trouble) { trouble->forget(); }
  }

  // Shared, so that tasks registered later reach it.
  std::shared_ptr<engine::Worker> worker;
  std::shared_ptr<TroubleListener> trouble;  // none: it does not see to schedules
};

}  // namespace hapax::detail
