#include "schedule/preview.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "schedule/cron_calendar.hpp"
#include "schedule/firing.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace hapax::schedule {

namespace {

using std::chrono::floor;
using std::chrono::seconds;

seconds offset_at(const Zone& zone, Instant at) { return zone.wall(at).time_since_epoch() - at.time_since_epoch(); }

// 02:30, or 02:30:15 if the seconds are not 0.
std::string clock_text(Wall wall) {
  const auto time = (wall - floor<std::chrono::days>(wall)).count();
  std::array<char, 32> text{};
  if (time % 60 == 0) {
    std::snprintf(text.data(), text.size(), "%02d:%02d", static_cast<int>(time / 3600),
                  static_cast<int>(time / 60 % 60));
  } else {
    std::snprintf(text.data(), text.size(), "%02d:%02d:%02d", static_cast<int>(time / 3600),
                  static_cast<int>(time / 60 % 60), static_cast<int>(time % 60));
  }
  return text.data();
}

std::string date_text(Wall wall) {
  const std::chrono::year_month_day date(floor<std::chrono::days>(wall));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text.data();
}

// "from 02:00 to 03:00", with the new date if the shift crosses midnight.
std::string change_text(const Zone::Shift& shift) {
  const bool one_day = date_text(shift.from) == date_text(shift.to);
  return "from " + clock_text(shift.from) + " to " + (one_day ? "" : date_text(shift.to) + " ") + clock_text(shift.to);
}

std::string by(seconds change) { return format_duration(Duration(seconds(std::abs(change.count())))); }

// The last shift after `after`, up to and including `until`.
std::optional<Zone::Shift> last_shift(const Zone& zone, Instant after, Instant until) {
  std::optional<Zone::Shift> last;
  for (auto shift = zone.next_shift(after); shift && shift->at <= until; shift = zone.next_shift(shift->at)) {
    last = shift;
  }
  return last;
}

std::string note_of(const Timetable& timetable, Instant before, Instant tick) {
  const Zone& zone = timetable.zone();
  const bool by_wall = timetable.cron().every == seconds(0);
  const std::optional<Zone::Shift> last = last_shift(zone, before, tick);
  if (by_wall && last && last->at == tick && last->to > last->from) {
    const std::optional<Wall> meant = first_from(timetable.cron().fields, last->from);
    if (meant && *meant < last->to) {
      return clock_text(*meant) + " does not exist on this day, as clocks go " + change_text(*last) +
             "; runs once, at the shift";
    }
  }
  const std::optional<Zone::Shift> next = zone.next_shift(tick);
  if (by_wall && next && next->to < next->from && zone.wall(tick) >= next->to && zone.wall(tick) < next->from) {
    return clock_text(zone.wall(tick)) + " comes twice on this day, as clocks go " + change_text(*next) +
           "; runs once, the first time";
  }
  const seconds change = offset_at(zone, tick) - offset_at(zone, before);
  if (!last || change == seconds(0)) { return {}; }
  return "clocks went " + std::string(change > seconds(0) ? "forward" : "back") + " by " + by(change) + " on " +
         date_text(last->from);
}

PreviewedPolicy preview_policy(CronTrigger trigger, std::string_view activity_id, const Outage& outage,
                               MisfirePolicy policy) {
  trigger.misfire_policy = policy;
  PreviewedPolicy previewed{.policy = policy, .runs = {}};
  Situation situation{.activity_id = activity_id, .cursor = outage.from, .now = outage.from + outage.length};
  // Ticks due before the outage have run. A tick whose jitter makes it due during the outage has not.
  if (const auto last = trigger.timetable.previous(outage.from);
      last && due_at(trigger, activity_id, *last) > outage.from) {
    situation.cursor = *last - Duration(1);
  }
  while (true) {
    const Plan next = plan(trigger, situation);
    previewed.dropped += next.dropped;
    for (const Tick& tick : next.runs) {
      previewed.runs.push_back({.id = run_id(activity_id, TickReason{.tick = tick}), .tick = tick});
    }
    situation.cursor = next.cursor;
    if (!next.next || *next.next > situation.now) { return previewed; }
    if (previewed.runs.size() >= limits::preview_fires) {
      previewed.runs.resize(limits::preview_fires);
      previewed.more = true;
      return previewed;
    }
  }
}

}  // namespace

std::string format_local(const Zone& zone, Time time) {
  const Instant at = floor<seconds>(time);
  const Wall wall = zone.wall(at);
  const seconds offset = offset_at(zone, at);
  const std::string clock = clock_text(wall);
  const Wall as_time = Wall(seconds(std::abs(offset.count())));
  return date_text(wall) + "T" + clock + (clock.size() == 5 ? ":00" : "") + (offset < seconds(0) ? "-" : "+") +
         clock_text(as_time);
}

std::vector<PreviewedFire> preview_fires(const CronTrigger& trigger, std::string_view activity_id, Time from,
                                         int count) {
  if (from < limits::first_tick || from >= limits::ticks_end) {
    throw InvalidArgument("from", format_time(from) +
                                      " lies outside the years that have ticks; expected an instant from "
                                      "1970-01-01T00:00:00Z to 2199-12-31T23:59:59Z");
  }
  std::vector<PreviewedFire> fires;
  const int most = std::clamp(count, 0, limits::preview_fires);
  Instant before = floor<seconds>(from);
  for (const Time tick : ticks_in(trigger, {.from = from, .to = limits::ticks_end}, most).ticks) {
    const Instant at = floor<seconds>(tick);
    fires.push_back({.scheduled_for = tick,
                     .due = due_at(trigger, activity_id, tick),
                     .local = format_local(trigger.timetable.zone(), tick),
                     .note = note_of(trigger.timetable, std::min(before, at - seconds(1)), at)});
    before = at;
  }
  return fires;
}

std::array<PreviewedPolicy, 3> preview_outage(const CronTrigger& trigger, std::string_view activity_id,
                                              const Outage& outage) {
  if (outage.from < limits::first_tick || outage.length < Duration{0} || outage.length > limits::delay_max ||
      outage.from + outage.length >= limits::ticks_end) {
    throw InvalidArgument("outage", "lies outside the years from 1970 to 2199, or is longer than " +
                                        format_duration(limits::delay_max) + "; expected one such as 2h30m");
  }
  return {preview_policy(trigger, activity_id, outage, MisfirePolicy::skip),
          preview_policy(trigger, activity_id, outage, MisfirePolicy::catchup),
          preview_policy(trigger, activity_id, outage, MisfirePolicy::compress)};
}

}  // namespace hapax::schedule
