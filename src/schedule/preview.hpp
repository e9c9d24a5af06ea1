// What an activity is going to do, for people: its next fires in local time, and what each misfire policy would make of an
// outage. Pure, and by the ticker's own rules, so that what is shown is what happens.
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
  Time due;           // with its jitter
  std::string local;  // "2026-03-29T03:00:00+02:00"
  std::string note;   // at a change of the clocks; else empty
};

// The first `count` ticks at or after an instant, within start and end; at most limits::preview_fires.
[[nodiscard]] std::vector<PreviewedFire> preview_fires(const CronTrigger& trigger, std::string_view activity_id,
                                                       Time from, int count);

// Everything is down from an instant on, for so long. Ticks that were due before it have run.
struct Outage {
  Time from;
  Duration length;
};

struct PreviewedRun {
  std::string id;  // of the execution
  Tick tick;
};

// What is done when the outage is over, under one policy.
struct PreviewedPolicy {
  MisfirePolicy policy = MisfirePolicy::skip;
  std::vector<PreviewedRun> runs;  // at most limits::preview_fires
  std::int64_t dropped = 0;
  bool more = false;  // there would be more runs than are listed
};

// All three, in the order of MisfirePolicy. Throws InvalidArgument when the outage ends outside the years of ticks.
[[nodiscard]] std::array<PreviewedPolicy, 3> preview_outage(const CronTrigger& trigger, std::string_view activity_id,
                                                            const Outage& outage);

// An instant as clocks of a zone show it: "2026-03-29T03:00:00+02:00".
[[nodiscard]] std::string format_local(const Zone& zone, Time time);

}  // namespace hapax::schedule
