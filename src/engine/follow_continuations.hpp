// Waits for the last run of a workflow that continues as new: a caller that waits for an execution waits for its
// successors too.
#pragma once

#include "engine/step_thread.hpp"
#include "engine/waiters.hpp"

namespace hapax::engine {

// As Waiters::wait().
[[nodiscard]] std::optional<model::Outcome> wait_through(Waiters& waiters, Uuid id, std::optional<Duration> at_most,
                                                         bool local);

// As Waiters::watch(). The callback must keep the owner of `waiters` alive.
void watch_through(Waiters& waiters, const Uuid& id, Waiters::Callback callback, bool local,
                   std::optional<Duration> at_most = std::nullopt);

}  // namespace hapax::engine
