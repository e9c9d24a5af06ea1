#include "schedule/cron_trigger.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "schedule/fields.hpp"

#include <algorithm>
#include <array>

namespace hapax::schedule {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> policies = {"skip", "catchup", "compress"};
constexpr std::array<std::string_view, 6> overlaps = {"allow",      "skip",         "buffer_one",
                                                      "buffer_all", "cancel_other", "terminate_other"};
constexpr std::array<std::string_view, 10> cron_trigger_members = {
    "type",    "cron",   "time_zone",     "misfire_policy", "misfire_grace",
    "overlap", "jitter", "catchup_limit", "start",          "end"};

template <class Words>
std::uint8_t number_of(const Words& words, std::string_view word, const std::string& field) {
  const auto* const found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) {
    throw InvalidArgument(field, base::quoted(word) + " is none; expected " + base::listed(words));
  }
  return static_cast<std::uint8_t>(found - words.begin());
}

// The longest time between two consecutive ticks, among 101 ticks from 2024 on.
Duration longest_gap(const Timetable& timetable) {
  constexpr int ticks_looked_at = 100;
  constexpr Time from = std::chrono::sys_days(std::chrono::year(2024) / 1 / 1);
  Duration longest{0};
  std::optional<Time> next = timetable.next(from);
  if (!next) { return longest; }
  Time tick = *next;
  for (int count = 0; count < ticks_looked_at; ++count) {
    next = timetable.next(tick);
    if (!next) { break; }
    longest = std::max<Duration>(longest, *next - tick);
    tick = *next;
  }
  return longest;
}

void check_jitter(const CronTrigger& trigger, const Fields& fields) {
  if (trigger.jitter == Duration{0}) { return; }
  const Duration gap = longest_gap(trigger.timetable);
  if (trigger.jitter >= gap) {
    fields.refuse("jitter", "less than the time from tick to tick, which is " + format_duration(gap) +
                                " at most, such as \"" + format_duration(std::max<Duration>(gap / 10, Duration(1))) +
                                "\"");
  }
}

void check_bounds(const CronTrigger& trigger, const Fields& fields) {
  if (!trigger.end) { return; }
  const std::string example = "; expected an instant after start such as \"2027-03-01T00:00:00Z\"";
  if (trigger.start && *trigger.end < *trigger.start) {
    throw InvalidArgument(fields.path("end"),
                          format_time(*trigger.end) + " is before start, " + format_time(*trigger.start) + example);
  }
  const std::optional<Time> first = trigger.timetable.next(trigger.start.value_or(limits::first_tick) - Duration(1));
  if (!first || *first > *trigger.end) {
    throw InvalidArgument(fields.path("end"), format_time(*trigger.end) + " is before the first tick" +
                                                  (first ? ", " + format_time(*first) : std::string()) +
                                                  ", so it would never run" + example);
  }
}

void check_year(const std::optional<Time>& time, std::string_view name, const Fields& fields) {
  if (time && (*time < limits::first_tick || *time >= limits::ticks_end)) {
    fields.refuse(name, "an instant from 1970 to 2199 such as \"2026-03-01T09:00:00Z\"");
  }
}

}  // namespace

std::string_view to_word(MisfirePolicy policy) { return policies[static_cast<std::size_t>(policy)]; }
std::string_view to_word(Overlap overlap) { return overlaps[static_cast<std::size_t>(overlap)]; }
MisfirePolicy parse_misfire_policy(std::string_view word, const std::string& field) {
  return static_cast<MisfirePolicy>(number_of(policies, word, field));
}
Overlap parse_overlap(std::string_view word, const std::string& field) {
  return static_cast<Overlap>(number_of(overlaps, word, field));
}

CronTrigger parse_cron_trigger(const json& value, const std::string& path) {
  const Fields fields(value, path, cron_trigger_members, R"({"type": "cron", "cron": "0 9 * * MON-FRI"})");
  Cron cron = parse_cron(fields.required_text("cron", "0 9 * * MON-FRI"), fields.path("cron"));
  Zone zone = Zone::load(fields.text("time_zone", "Europe/Zurich").value_or("UTC"), fields.path("time_zone"));
  const std::optional<Time> start = fields.time("start");
  check_year(start, "start", fields);
  CronTrigger trigger{.timetable = Timetable(std::move(cron), std::move(zone), start.value_or(Time{}))};
  trigger.start = start;
  trigger.end = fields.time("end");
  check_year(trigger.end, "end", fields);
  if (const auto word = fields.text("misfire_policy", "catchup")) {
    trigger.misfire_policy = parse_misfire_policy(*word, fields.path("misfire_policy"));
  }
  if (const auto word = fields.text("overlap", "skip")) {
    trigger.overlap = parse_overlap(*word, fields.path("overlap"));
  }
  trigger.misfire_grace =
      fields.duration("misfire_grace", std::chrono::seconds(1), limits::delay_max).value_or(trigger.misfire_grace);
  trigger.catchup_limit =
      static_cast<int>(fields.integer("catchup_limit", 1, limits::catchup_limit).value_or(trigger.catchup_limit));
  trigger.jitter = fields.duration("jitter", Duration{0}, limits::delay_max).value_or(Duration{0});
  check_jitter(trigger, fields);
  check_bounds(trigger, fields);
  return trigger;
}

json encode_cron_trigger(const CronTrigger& trigger) {
  json out = {{"type", "cron"},
              {"cron", trigger.timetable.cron().text},
              {"time_zone", trigger.timetable.zone().name()},
              {"misfire_policy", to_word(trigger.misfire_policy)},
              {"misfire_grace", format_duration(trigger.misfire_grace)},
              {"catchup_limit", trigger.catchup_limit},
              {"overlap", to_word(trigger.overlap)},
              {"jitter", format_duration(trigger.jitter)}};
  if (trigger.start) { out["start"] = format_time(*trigger.start); }
  if (trigger.end) { out["end"] = format_time(*trigger.end); }
  return out;
}

}  // namespace hapax::schedule
