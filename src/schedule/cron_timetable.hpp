// Timetable: the ticks of a cron expression in a time zone. A pure function: every process gets the same instants, in
// whatever order it asks. A value type; any thread.
//
// When clocks are shifted
//   An expression names wall clock times. Each of them has one tick, at the instant when clocks in the zone first reach
//   or pass it.
//   - A time that does not exist, because clocks were set forward over it, has its tick at the shift. All skipped times
//     share that one tick: "*/10 2 * * *" in Zurich has one at 03:00 summer time on that day. "* * * * *" also has only
//     one then, for the skipped times and 03:00 itself.
//   - A time that exists twice, because clocks were set back, has its tick the first time. So an expression that fires
//     all day pauses during the repeated hour: after 02:55 summer time the next tick of "*/5 * * * *" in Zurich is
//     03:00 winter time, 65 minutes later. For fixed intervals use @every, or the zone UTC, which has no shifts.
//   Both rules hold for a shift of any length: half an hour on Lord Howe Island, all of 30 December 2011 in Samoa.
//
// @every
//   Ticks lie at whole multiples of the period from the anchor, before and after it, the anchor included; the zone does
//   not matter. The anchor is the Unix epoch, or an activity's start, rounded up to a whole second.
//
// Ticks are whole seconds, within the years of limits.hpp.
#pragma once

#include "schedule/cron.hpp"
#include "schedule/zone.hpp"

#include <cstdint>
#include <optional>

namespace hapax::schedule {

class Timetable {
 public:
  explicit Timetable(Cron cron, Zone zone = {}, Time anchor = Time{});

  [[nodiscard]] const Cron& cron() const { return cron_; }
  [[nodiscard]] const Zone& zone() const { return zone_; }
  [[nodiscard]] std::string describe() const { return schedule::describe(cron_, zone_.name()); }

  // The first tick after an instant. Costs well below a microsecond unless many months have no tick, so callers may
  // walk tick by tick.
  [[nodiscard]] std::optional<Time> next(Time after) const;

  // The last tick at or before an instant.
  [[nodiscard]] std::optional<Time> previous(Time at) const;

  // The number of ticks after `after`, up to and including `until`. The cost grows with months and shifts, not with
  // ticks.
  [[nodiscard]] std::int64_t count(Time after, Time until) const;

 private:
  [[nodiscard]] std::optional<Instant> next_by_wall(Instant after) const;
  [[nodiscard]] std::optional<Instant> previous_by_wall(Instant at) const;
  [[nodiscard]] std::int64_t count_by_wall(Instant after, Instant until) const;
  [[nodiscard]] Instant last_multiple(Instant at) const;

  Cron cron_;
  Zone zone_;
  Instant anchor_;
};

}  // namespace hapax::schedule
