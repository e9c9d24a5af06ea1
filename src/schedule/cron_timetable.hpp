// Timetable: the ticks of a cron expression in a time zone (SPEC S3). A pure function of the time axis: whoever asks, in
// whatever process and order, gets the same instants. A value; any thread.
//
// When clocks are shifted
//   An expression names times of the wall clock, and each of them has one tick: at the instant at which clocks there
//   first reach or pass it.
//   - A time that does not exist, as clocks were set forward over it, has its tick at the shift. All that were passed
//     over together share that one tick: "*/10 2 * * *" in Zurich has one at 03:00 summer time on that day, and so has
//     "* * * * *", whose 03:00 it is anyway.
//   - A time that exists twice, as clocks were set back, has its tick the first time. So an expression that fires
//     throughout is still for the hour that is repeated: after 02:55 summer time the next tick of "*/5 * * * *" in
//     Zurich is 03:00 winter time, 65 minutes later. For intervals of real time there is @every, or the zone UTC,
//     which has no shifts.
//   Neither depends on how long the shift is: half an hour on Lord Howe Island, all of 30 December 2011 in Samoa.
//
// @every
//   Ticks at whole multiples of the period from the anchor, in both directions, the anchor itself among them; the zone
//   does not matter. The anchor is the Unix epoch, or an activity's start, rounded up to a whole second.
//
// Ticks are whole seconds, and lie in the years of limits.hpp: none before, none after.
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

  // The first tick after an instant. Cheap enough to walk: it jumps from field to field, and costs well below a
  // microsecond unless many months have no tick.
  [[nodiscard]] std::optional<Time> next(Time after) const;

  // The last tick at or before an instant.
  [[nodiscard]] std::optional<Time> previous(Time at) const;

  // How many ticks lie after `after`, up to and including `until`. Counts days and shifts, not ticks.
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
