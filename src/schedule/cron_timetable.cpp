#include "schedule/cron_timetable.hpp"

#include "base/limits.hpp"
#include "schedule/cron_calendar.hpp"

#include <algorithm>
#include <utility>

namespace hapax::schedule {

namespace {

using std::chrono::seconds;

constexpr Instant first_instant = std::chrono::floor<seconds>(limits::first_tick);
constexpr Instant last_instant = std::chrono::floor<seconds>(limits::ticks_end) - seconds(1);

// The instant, limited to the years of ticks and one second before them.
Instant clamp(Time time) {
  const Time least = limits::first_tick - seconds(1);
  return std::chrono::floor<seconds>(std::clamp<Time>(time, least, last_instant));
}

// The anchor in whole seconds, rounded up, as no tick may come before an activity's start.
Instant anchor_of(Time anchor) {
  return std::chrono::ceil<seconds>(std::clamp<Time>(anchor, limits::first_tick, last_instant));
}

std::optional<Time> within_years(std::optional<Instant> tick) {
  if (!tick || *tick < first_instant || *tick > last_instant) { return std::nullopt; }
  return Time(*tick);
}

}  // namespace

Timetable::Timetable(Cron cron, Zone zone, Time anchor)
    : cron_(std::move(cron)), zone_(std::move(zone)), anchor_(anchor_of(anchor)) {}

std::optional<Time> Timetable::next(Time after) const {
  const Instant from = clamp(after);
  if (cron_.every > seconds(0)) { return within_years(last_multiple(from) + cron_.every); }
  return within_years(next_by_wall(from));
}

std::optional<Time> Timetable::previous(Time at) const {
  const Instant to = clamp(at);
  if (cron_.every > seconds(0)) { return within_years(last_multiple(to)); }
  return within_years(previous_by_wall(to));
}

std::int64_t Timetable::count(Time after, Time until) const {
  const Instant from = clamp(after);
  const Instant to = clamp(until);
  if (from >= to) { return 0; }
  if (cron_.every > seconds(0)) { return (last_multiple(to) - last_multiple(from)) / cron_.every; }
  return count_by_wall(from, to);
}

Instant Timetable::last_multiple(Instant at) const {
  const seconds since = at - anchor_;
  seconds into = since % cron_.every;
  if (into < seconds(0)) { into += cron_.every; }
  return at - into;
}

// Ticks are in the order of their wall clock times, so the first matching time that clocks have not reached has the
// next tick. If a zone shifted twice within the length of one shift, this order could fail; the loop then skips times
// until it finds a tick after `after`.
std::optional<Instant> Timetable::next_by_wall(Instant after) const {
  Wall from = zone_.latest_wall(after) + seconds(1);
  while (true) {
    const std::optional<Wall> wall = first_from(cron_.fields, from);
    if (!wall) { return std::nullopt; }
    const Instant tick = zone_.reached(*wall);
    if (tick > after) { return tick; }
    from = *wall + seconds(1);
  }
}

std::optional<Instant> Timetable::previous_by_wall(Instant at) const {
  Wall to = zone_.latest_wall(at);
  while (true) {
    const std::optional<Wall> wall = last_until(cron_.fields, to);
    if (!wall) { return std::nullopt; }
    const Instant tick = zone_.reached(*wall);
    if (tick <= at) { return tick; }
    to = *wall - seconds(1);
  }
}

// Counts the matching times that clocks reach after `after`, up to `until`. The times that a forward shift skips, and
// the time shown right after it, are one tick together.
std::int64_t Timetable::count_by_wall(Instant after, Instant until) const {
  const Wall begin = zone_.latest_wall(after) + seconds(1);
  const Wall end = zone_.latest_wall(until) + seconds(1);
  std::int64_t count = count_between(cron_.fields, begin, end);
  for (auto shift = zone_.next_shift(after); shift && shift->at <= until; shift = zone_.next_shift(shift->at)) {
    if (shift->to <= shift->from) { continue; }
    const std::int64_t together = count_between(cron_.fields, shift->from, shift->to + seconds(1));
    count -= std::max<std::int64_t>(0, together - 1);
  }
  return count;
}

}  // namespace hapax::schedule
