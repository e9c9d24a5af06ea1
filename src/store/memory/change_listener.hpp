// Wakeups of the memory store: a counter of announcements that listeners watch.
#pragma once

#include "store/store.hpp"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace hapax::store::memory {

// Shared by the store and its listeners, so that a listener may outlive the store. Any thread may call.
struct Announcements {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t count = 0;

  void announce();
};

[[nodiscard]] std::unique_ptr<Listener> listen(std::shared_ptr<Announcements> announcements);

}  // namespace hapax::store::memory
