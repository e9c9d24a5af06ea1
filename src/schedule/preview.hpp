// Previews of an activity: its next fires in local time, and the runs that each misfire policy would start after an
// outage. Pure functions that call the ticker's own planning code, so that the preview matches what happens.
#pragma once

#include "schedule/activity.hpp"
#include "schedule/misfire.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::schedule {

struct PreviewedFire {
  Time scheduled_for;
  Time due;           // scheduled_for plus jitter
  std::string local;  // "2026-03-29T03:00:00+02:00"
  std::string note;   // explains a clock shift; otherwise empty
};

// The first `count` ticks at or after an instant, within start and end; at most limits::preview_fires.
[[nodiscard]] std::vector<PreviewedFire> preview_fires(const CronTrigger& trigger, std::string_view activity_id,
                                                       Time from, int count);

// A time in which no ticker runs. Ticks that were due before `from` have run.
struct Outage {
  Time from;
  Duration length;
};

struct PreviewedRun {
  std::string id;  // the run's ID
  Tick tick;
};

// The effect of one misfire policy after the outage.
struct PreviewedPolicy {
  MisfirePolicy policy = MisfirePolicy::skip;
  std::vector<PreviewedRun> runs;  // at most limits::preview_fires
  std::int64_t dropped = 0;
  bool more = false;  // there would be further runs
};

// All three policies, in the order of MisfirePolicy. Throws InvalidArgument if the outage lies outside the years of
// ticks or is longer than limits::delay_max.
[[nodiscard]] std::array<PreviewedPolicy, 3> preview_outage(const CronTrigger& trigger, std::string_view activity_id,
                                                            const Outage& outage);

// An instant in the zone's local time: "2026-03-29T03:00:00+02:00".
[[nodiscard]] std::string format_local(const Zone& zone, Time time);

}  // namespace hapax::schedule
