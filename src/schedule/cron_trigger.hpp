// CronTrigger: when an activity runs by the clock, and what becomes of runs that were missed or overlap (SPEC S1, S4, S5).
//
// What is not said
//   misfire_policy  skip: after an outage no work for times gone by comes as a surprise; what was dropped is counted, and
//                   whoever needs it says catchup or compress.
//   overlap         allow: every tick has its execution, and how many run at once is the queue's business.
//   misfire_grace 60s, catchup_limit 10, jitter 0, time_zone UTC, no start and no end (docs/decisions/0023).
// start and end are themselves inside: a tick at either runs. The periods of @every count from start.
#pragma once

#include "schedule/cron_timetable.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hapax::schedule {

// What is done about ticks that were not admitted within misfire_grace.
enum class MisfirePolicy : std::uint8_t {
  skip = 0,      // they are dropped
  catchup = 1,   // the newest catchup_limit of them run, oldest first
  compress = 2,  // one run for all of them, with the window they span
};

// What is done about a tick while the last run is still going.
enum class Overlap : std::uint8_t {
  allow = 0,
  skip = 1,
  buffer_one = 2,
  buffer_all = 3,
  cancel_other = 4,
  terminate_other = 5,
};

struct CronTrigger {
  Timetable timetable;
  MisfirePolicy misfire_policy = MisfirePolicy::skip;
  Duration misfire_grace = std::chrono::seconds(60);
  int catchup_limit = 10;
  Overlap overlap = Overlap::allow;
  Duration jitter{0};
  std::optional<Time> start;
  std::optional<Time> end;
};

// Throws InvalidArgument naming a path that begins with `path`.
[[nodiscard]] CronTrigger parse_cron_trigger(const nlohmann::json& trigger, const std::string& path);
// All members that parse_cron_trigger reads, defaults included, and "type".
[[nodiscard]] nlohmann::json encode_cron_trigger(const CronTrigger& trigger);

// The words of definitions.
[[nodiscard]] std::string_view to_word(MisfirePolicy policy);
[[nodiscard]] std::string_view to_word(Overlap overlap);
[[nodiscard]] MisfirePolicy parse_misfire_policy(std::string_view word, const std::string& field);
[[nodiscard]] Overlap parse_overlap(std::string_view word, const std::string& field);

}  // namespace hapax::schedule
