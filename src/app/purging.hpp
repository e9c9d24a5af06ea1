// Purge: cancels all pending executions of a queue. App, the command line and the API use it.
#pragma once

#include "store/store.hpp"

#include <cstdint>

namespace hapax::app {

struct Purged {
  std::int64_t cancelled = 0;
  std::int64_t requested = 0;  // workflows that have begun and now unwind
};

// Cancels all pending executions in bounded steps. Workflows whose end was requested before are not counted again.
[[nodiscard]] Purged purge_queue(store::Store& store, const model::QueueRef& queue, const model::Actor& by);

}  // namespace hapax::app
