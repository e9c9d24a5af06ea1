// Waits for the last run of a workflow that continues as new: a caller that waits for a run waits for the runs that
// continue it, too.
#pragma once

#include "engine/step_thread.hpp"
#include "engine/waiters.hpp"

namespace hapax::engine {

// As Waiters::wait(), for the last run.
[[nodiscard]] std::optional<model::Outcome> wait_for_last_run(Waiters& waiters, Uuid id,
                                                              std::optional<Duration> at_most, bool local);

// As Waiters::watch(), for the last run. The callback must keep the owner of `waiters` alive.
void watch_last_run(Waiters& waiters, const Uuid& id, Waiters::Callback callback, bool local,
                    std::optional<Duration> at_most = std::nullopt);

}  // namespace hapax::engine
