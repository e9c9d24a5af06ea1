// CronTrigger: when an activity runs by the clock, and how missed and overlapping runs are handled.
//
// Defaults (decision 23)
//   misfire_policy  skip: after an outage no late work comes as a surprise. Dropped ticks are counted; an activity that
//                   needs them sets catchup or compress.
//   overlap         allow: every tick has its execution; the queue limits how many run at once.
//   misfire_grace 60s, catchup_limit 10, jitter 0, time_zone UTC, no start and no end.
// start and end are inclusive: a tick at either runs. The periods of @every count from start.
#pragma once

#include "schedule/cron_timetable.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hapax::schedule {

// How ticks that were not admitted within misfire_grace are handled.
enum class MisfirePolicy : std::uint8_t {
  skip = 0,      // all missed ticks are dropped
  catchup = 1,   // the newest catchup_limit missed ticks run, oldest first
  compress = 2,  // one run for all missed ticks, with the window that they span
};

// How a tick is handled while the previous run is live (overlap.hpp).
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

// The enum values' names in definitions.
[[nodiscard]] std::string_view to_word(MisfirePolicy policy);
[[nodiscard]] std::string_view to_word(Overlap overlap);
[[nodiscard]] MisfirePolicy parse_misfire_policy(std::string_view word, const std::string& field);
[[nodiscard]] Overlap parse_overlap(std::string_view word, const std::string& field);

}  // namespace hapax::schedule
