#include "schedule/misfire.hpp"

#include <hapax/error.hpp>

#include "base/sha256.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace hapax::schedule {

namespace {

constexpr Duration moment{1};

// A range of ticks: after `after`, up to and including `until`.
struct Span {
  Time after;
  Time until;
};

Time not_before_start(const CronTrigger& trigger, Time after) {
  return trigger.start ? std::max(after, *trigger.start - moment) : after;
}

Time not_after_end(const CronTrigger& trigger, Time until) {
  return trigger.end ? std::min(until, *trigger.end) : until;
}

std::optional<Time> next_tick(const CronTrigger& trigger, Time after) {
  const std::optional<Time> tick = trigger.timetable.next(not_before_start(trigger, after));
  return tick && (!trigger.end || *tick <= *trigger.end) ? tick : std::nullopt;
}

std::optional<Time> last_tick(const CronTrigger& trigger, const Span& span) {
  const std::optional<Time> tick = trigger.timetable.previous(not_after_end(trigger, span.until));
  return tick && *tick > not_before_start(trigger, span.after) ? tick : std::nullopt;
}

std::int64_t count_ticks(const CronTrigger& trigger, const Span& span) {
  return trigger.timetable.count(not_before_start(trigger, span.after), not_after_end(trigger, span.until));
}

// The last missed tick after the cursor. A tick is due before the next tick is scheduled, so jitter delays only the
// last candidate past the grace.
std::optional<Time> last_missed(const CronTrigger& trigger, const Situation& situation) {
  const Span before_grace{.after = situation.cursor, .until = situation.now - trigger.misfire_grace - moment};
  const std::optional<Time> tick = last_tick(trigger, before_grace);
  if (!tick || due_at(trigger, situation.activity_id, *tick) + trigger.misfire_grace < situation.now) { return tick; }
  return last_tick(trigger, {.after = situation.cursor, .until = *tick - moment});
}

// The newest `limit` ticks of the span, oldest first.
std::vector<Time> newest(const CronTrigger& trigger, const Span& span, int limit) {
  std::vector<Time> ticks;
  Span left = span;
  while (ticks.size() < static_cast<std::size_t>(limit)) {
    const std::optional<Time> tick = last_tick(trigger, left);
    if (!tick) { break; }
    ticks.push_back(*tick);
    left.until = *tick - moment;
  }
  std::reverse(ticks.begin(), ticks.end());
  return ticks;
}

void plan_missed(Plan& plan, const CronTrigger& trigger, const Situation& situation) {
  const std::optional<Time> last = last_missed(trigger, situation);
  if (!last) { return; }
  const Span missed{.after = situation.cursor, .until = *last};
  const std::int64_t count = count_ticks(trigger, missed);
  plan.cursor = *last;
  switch (trigger.misfire_policy) {
    case MisfirePolicy::skip: plan.dropped = count; break;
    case MisfirePolicy::catchup: {
      std::vector<Time> ticks = newest(trigger, missed, trigger.catchup_limit);
      plan.dropped = count - static_cast<std::int64_t>(ticks.size());
      if (ticks.size() > static_cast<std::size_t>(situation.most)) {
        ticks.resize(static_cast<std::size_t>(situation.most));
        plan.cursor = ticks.back();
      }
      for (const Time tick : ticks) { plan.runs.push_back({.scheduled_for = tick, .missed = true, .window = {}}); }
      break;
    }
    case MisfirePolicy::compress: {
      const Window window{.from = next_tick(trigger, missed.after).value_or(*last), .to = *last, .missed = count};
      plan.runs.push_back({.scheduled_for = *last, .missed = true, .window = window});
      break;
    }
  }
}

}  // namespace

Time due_at(const CronTrigger& trigger, std::string_view activity_id, Time tick) {
  if (trigger.jitter == Duration{0}) { return tick; }
  Duration most = trigger.jitter;
  if (const std::optional<Time> next = trigger.timetable.next(tick)) {
    most = std::min<Duration>(most, *next - tick - moment);
  }
  const std::string instant = format_time(tick);
  const std::array<std::string_view, 2> parts = {activity_id, instant};
  const base::Digest digest = base::sha256_parts(parts);
  std::uint64_t drawn = 0;
  for (std::size_t i = 0; i < sizeof drawn; ++i) { drawn = drawn << 8 | digest[i]; }
  return tick + Duration(static_cast<std::int64_t>(drawn % (static_cast<std::uint64_t>(most.count()) + 1)));
}

std::optional<Time> next_due(const CronTrigger& trigger, std::string_view activity_id, Time cursor) {
  const std::optional<Time> tick = next_tick(trigger, cursor);
  return tick ? std::optional(due_at(trigger, activity_id, *tick)) : std::nullopt;
}

Plan plan(const CronTrigger& trigger, const Situation& situation) {
  Plan plan{.runs = {}, .cursor = situation.cursor, .next = {}};
  if (situation.paused) { return plan; }
  plan_missed(plan, trigger, situation);
  std::optional<Time> tick = next_tick(trigger, plan.cursor);
  while (tick && plan.runs.size() < static_cast<std::size_t>(situation.most) &&
         due_at(trigger, situation.activity_id, *tick) <= situation.now) {
    plan.runs.push_back({.scheduled_for = *tick, .missed = false, .window = {}});
    plan.cursor = *tick;
    tick = next_tick(trigger, *tick);
  }
  if (tick) { plan.next = due_at(trigger, situation.activity_id, *tick); }
  return plan;
}

TickPage ticks_in(const CronTrigger& trigger, const TickRange& range, int most) {
  TickPage page;
  Span left{.after = range.from - moment, .until = range.to};
  while (page.ticks.size() < static_cast<std::size_t>(most)) {
    const std::optional<Time> tick = next_tick(trigger, left.after);
    if (!tick || *tick > range.to) { return page; }
    page.ticks.push_back(*tick);
    left.after = *tick;
  }
  page.left = count_ticks(trigger, left);
  if (page.left > 0) { page.next_from = left.after + moment; }
  return page;
}

void check_backfill(const TickRange& range, Time now) {
  const std::string example = "; expected a range such as from \"2026-03-01T00:00:00Z\" to \"2026-03-02T00:00:00Z\"";
  if (range.to < range.from) {
    throw InvalidArgument("to", format_time(range.to) + " is before from, " + format_time(range.from) + example);
  }
  if (range.to > now) {
    throw InvalidArgument("to", format_time(range.to) + " is after now, " + format_time(now) +
                                    ": those ticks run by themselves" + example);
  }
}

}  // namespace hapax::schedule
