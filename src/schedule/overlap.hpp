// The overlap policies: how a tick is handled while a run of the activity is live. A pure function, independent of
// misfire: of several ticks that catchup runs at once, each meets the run of the one before.
//
//   allow            the new run starts beside the live one
//   skip             the tick is dropped
//   buffer_one       the new run waits for the live one's end; if a run waits already, the tick is dropped
//   buffer_all       the new run waits for the end of all earlier ones; at most limits::buffered_runs wait
//   cancel_other     the live run is asked to stop, and the new one starts when it has ended; only the newest run waits
//   terminate_other  the live run is ended and the new one starts, in one transaction
#pragma once

#include "schedule/cron_trigger.hpp"

#include "base/limits.hpp"

#include <cstdint>

namespace hapax::schedule {

enum class OverlapAction : std::uint8_t {
  start,
  drop,
  wait,                // behind the runs that wait already
  cancel_and_wait,     // and the runs that wait already are dropped
  terminate_and_start  // in one transaction
};

struct OverlapState {
  bool running = false;  // a run of the activity is live
  int waiting = 0;       // buffered runs
};

// Decides about one more tick and updates `state` for the next tick.
[[nodiscard]] constexpr OverlapAction admit_tick(Overlap policy, OverlapState& state) {
  // A waiting run goes first, even if no run is live at this moment.
  const bool busy = state.running || state.waiting > 0;
  if (!busy || policy == Overlap::allow) {
    state.running = true;
    return OverlapAction::start;
  }
  switch (policy) {
    case Overlap::allow:
    case Overlap::skip: return OverlapAction::drop;
    case Overlap::buffer_one:
    case Overlap::buffer_all: {
      const int most = policy == Overlap::buffer_one ? 1 : limits::buffered_runs;
      if (state.waiting >= most) { return OverlapAction::drop; }
      ++state.waiting;
      return OverlapAction::wait;
    }
    case Overlap::cancel_other: state.waiting = 1; return OverlapAction::cancel_and_wait;
    case Overlap::terminate_other: state = {.running = true, .waiting = 0}; return OverlapAction::terminate_and_start;
  }
  return OverlapAction::drop;
}

// Whether the oldest waiting run may start now.
[[nodiscard]] constexpr bool may_release(const OverlapState& state) { return !state.running && state.waiting > 0; }

}  // namespace hapax::schedule
