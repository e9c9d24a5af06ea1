// What becomes of a tick while the activity's last run is still going (SPEC S5). Pure; separate from misfire: ticks that
// are caught up come one after the other, and each of them meets the one before.
//
//   allow            it starts beside the other
//   skip             it is dropped
//   buffer_one       it waits for the other's end, unless one waits already: then it is dropped
//   buffer_all       it waits for the end of all before it, up to limits::buffered_runs of them
//   cancel_other     the other is asked to stop, and it starts when that has ended; of several only the newest waits
//   terminate_other  the other is ended and it starts, both at once
#pragma once

#include "schedule/cron_trigger.hpp"

#include "base/limits.hpp"

#include <cstdint>

namespace hapax::schedule {

enum class OverlapAction : std::uint8_t {
  start,
  drop,
  wait,                // behind those that wait already
  cancel_and_wait,     // and those that wait already are dropped
  terminate_and_start  // in one transaction
};

struct OverlapState {
  bool running = false;  // a run of the activity has not ended
  int waiting = 0;       // buffered runs
};

// What to do with one more tick. `state` is then what the next tick meets.
[[nodiscard]] constexpr OverlapAction admit_tick(Overlap policy, OverlapState& state) {
  // One that waits is next even if nothing runs at this moment.
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

// Whether the oldest of those that wait is to start now.
[[nodiscard]] constexpr bool may_release(const OverlapState& state) { return !state.running && state.waiting > 0; }

}  // namespace hapax::schedule
