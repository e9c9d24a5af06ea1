// Waiting for the end of the last run, where a workflow continues as new (SPEC W1): whoever waits for an execution waits
// for what it went on as.
#pragma once

#include "engine/step_thread.hpp"
#include "engine/waiters.hpp"

namespace hapax::engine {

// As Waiters::wait.
[[nodiscard]] std::optional<model::Outcome> wait_through(Waiters& waiters, Uuid id, std::optional<Duration> at_most,
                                                         bool local);

// As Waiters::watch. The callback keeps alive what owns the waiters.
void watch_through(Waiters& waiters, const Uuid& id, Waiters::Callback callback, bool local,
                   std::optional<Duration> at_most = std::nullopt);

}  // namespace hapax::engine
