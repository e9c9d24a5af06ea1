// Emptying a queue (SPEC D14), as App, the command line and the API do it.
#pragma once

#include "store/store.hpp"

#include <cstdint>

namespace hapax::engine {

struct Purged {
  std::int64_t cancelled = 0;
  std::int64_t requested = 0;  // workflows that have begun, and now unwind
};

// Cancels all that is pending, in bounded steps. What has been asked to end before is not counted again.
[[nodiscard]] Purged purge_queue(store::Store& store, const model::QueueRef& queue, const model::Actor& by);

}  // namespace hapax::engine
