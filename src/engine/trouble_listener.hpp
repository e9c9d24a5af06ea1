// TroubleListener: a caller's function that background threads of the process tell of trouble, until the caller is gone.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace hapax::engine {

// The ticker and the sweeper are the process's and outlive a worker, whose listener they must not call then. Any thread may
// call it; after forget() has returned no other thread is inside the listener.
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

}  // namespace hapax::engine
