// TroubleListener: a caller's function to which background threads report trouble, until the caller forgets it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace hapax::engine {

// The ticker and the sweeper belong to the process and outlive a worker, and must not call the worker's function after
// the worker has ended. Any thread may call a TroubleListener; after forget() has returned, no other thread is inside
// the function.
class TroubleListener {
 public:
  explicit TroubleListener(std::function<void(std::string_view)> listener)
      : listener_(std::make_shared<const std::function<void(std::string_view)>>(std::move(listener))) {}

  void tell(std::string_view text) {
    const std::lock_guard lock(mutex_);
    const auto listener = listener_;  // keeps the function alive during the call: the call may itself end the worker
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

}  // namespace hapax::engine
