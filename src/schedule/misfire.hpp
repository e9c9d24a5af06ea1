// What a schedule has to do at an instant (SPEC S4): which ticks run, which are dropped, and when to look again. Pure: a
// function of the definition, the cursor and the clock, so that whoever looks decides the same.
//
// A tick is due at its time, or up to `jitter` later: by a hash of the activity's id and the tick, so everybody agrees on
// it, and before the next tick, so the order stays. It is missed once misfire_grace has passed since it was due and it has
// not been admitted. Missed ones are always the oldest:
//
//     cursor ├──────── missed ────────┤── on time ──┤ now
//              skip      dropped
//              catchup   the newest catchup_limit run, oldest first, the rest is dropped
//              compress  the last one runs, with the window of all
//                                       all run
//
// The cursor is the last tick that was run or dropped, or the activity's creation; ticks up to it are done with, whatever
// the clock says. It never goes back: with a clock that was set back there is nothing to do until it has caught up, one
// that was set forward looks like an outage. A pause looks like one too when it is over.
#pragma once

#include "schedule/cron_trigger.hpp"

#include "base/limits.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hapax::schedule {

// The missed ticks that one run stands for, the first and the last themselves inside.
struct Window {
  Time from;
  Time to;
  std::int64_t missed = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

struct Tick {
  Time scheduled_for;
  bool missed = false;
  std::optional<Window> window;  // under compress, of a missed one
  friend bool operator==(const Tick&, const Tick&) = default;
};

struct Situation {
  std::string_view activity_id;
  Time cursor;
  Time now;
  bool paused = false;
  int most = limits::ticks_at_once;  // runs in one plan, at least 1; the others come with the next
};

struct Plan {
  std::vector<Tick> runs;  // oldest first
  std::int64_t dropped = 0;
  Time cursor;               // after all of this; the old one when there is nothing to do
  std::optional<Time> next;  // when to look again, in the past if more is due; none: paused, or no tick is left
};

[[nodiscard]] Plan plan(const CronTrigger& trigger, const Situation& situation);

// When a tick is due, its jitter included.
[[nodiscard]] Time due_at(const CronTrigger& trigger, std::string_view activity_id, Time tick);

// When an activity is to be looked at next, if nothing was due up to now.
[[nodiscard]] std::optional<Time> next_due(const CronTrigger& trigger, std::string_view activity_id, Time cursor);

// The ticks of a range, both ends inside, within the trigger's start and end: what a backfill asks for (SPEC S6). Those
// that ran already are told by their identity.
struct TickRange {
  Time from;
  Time to;
};
struct TickPage {
  std::vector<Time> ticks;        // oldest first
  std::int64_t left = 0;          // of the range, behind these
  std::optional<Time> next_from;  // where the next page begins, if there is one
};
[[nodiscard]] TickPage ticks_in(const CronTrigger& trigger, const TickRange& range, int most = limits::ticks_at_once);

// Throws InvalidArgument naming from or to: a backfill goes forward, and not beyond now.
void check_backfill(const TickRange& range, Time now);

}  // namespace hapax::schedule
