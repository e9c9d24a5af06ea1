// Plans a schedule at an instant: which ticks run, which are dropped, and when to look again. A pure function of the
// definition, the cursor and the clock, so that every ticker computes the same plan.
//
// A tick is due at its time or up to `jitter` later. The delay is a hash of the activity's id and the tick, so that
// every process computes the same, and ends before the next tick, so that the order stays. A tick is missed if
// misfire_grace has passed since it was due and it has not been admitted. The missed ticks are always the oldest ones:
//
//     cursor ├──────── missed ────────┤── on time ──┤ now
//              skip      dropped
//              catchup   the newest catchup_limit run, oldest first; the rest is dropped
//              compress  the last one runs, with the window of all missed ticks
//                                       all run
//
// The cursor is the last tick that was run or dropped, or the activity's creation. Ticks up to the cursor are never
// planned again, whatever the clock says. plan() never moves the cursor back: after the clock is set back nothing runs
// until the clock has caught up. A clock set forward looks like an outage, and so does a pause after its end.
#pragma once

#include "schedule/cron_trigger.hpp"

#include "base/limits.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hapax::schedule {

// The range of missed ticks that one compressed run covers, from the first to the last of them.
struct Window {
  Time from;
  Time to;
  std::int64_t missed = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

struct Tick {
  Time scheduled_for;
  bool missed = false;
  std::optional<Window> window;  // of a missed tick under compress
  friend bool operator==(const Tick&, const Tick&) = default;
};

struct Situation {
  std::string_view activity_id;
  Time cursor;
  Time now;
  bool paused = false;
  int most = limits::ticks_at_once;  // runs in one plan, at least 1; further runs come with the next plan
};

struct Plan {
  std::vector<Tick> runs;  // oldest first
  std::int64_t dropped = 0;
  Time cursor;               // the new cursor; unchanged when there is nothing to do
  std::optional<Time> next;  // when to look again; in the past if more is due; none: paused, or no tick is left
};

[[nodiscard]] Plan plan(const CronTrigger& trigger, const Situation& situation);

// When a tick is due, jitter included.
[[nodiscard]] Time due_at(const CronTrigger& trigger, std::string_view activity_id, Time tick);

// When the first tick after the cursor is due; none: no tick is left.
[[nodiscard]] std::optional<Time> next_due(const CronTrigger& trigger, std::string_view activity_id, Time cursor);

// The ticks of a range, both ends included, within the trigger's start and end; for backfills. Ticks that have run
// already are included: their identity makes them duplicates.
struct TickRange {
  Time from;
  Time to;
};
struct TickPage {
  std::vector<Time> ticks;        // oldest first
  std::int64_t left = 0;          // ticks of the range after this page
  std::optional<Time> next_from;  // where the next page begins; none: this is the last page
};
[[nodiscard]] TickPage ticks_in(const CronTrigger& trigger, const TickRange& range, int most = limits::ticks_at_once);

// Throws InvalidArgument naming `to` if the range ends before it begins, or after now.
void check_backfill(const TickRange& range, Time now);

}  // namespace hapax::schedule
