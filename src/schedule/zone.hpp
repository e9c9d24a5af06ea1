// Zone: the rules of an IANA time zone, as a translation between instants and what clocks on the wall there show.
//
// A small value; copies share the rules, which are read once a process and kept. Any thread.
#pragma once

#include <hapax/time.hpp>

#include <absl/time/time.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace hapax::schedule {

using Instant = std::chrono::sys_seconds;
using Wall = std::chrono::local_seconds;  // a date and time of day, in no zone

class Zone {
 public:
  Zone() = default;  // UTC

  // "Europe/Zurich", "UTC". Throws InvalidArgument naming `field` for one that is not in the zone database, with the
  // nearest name that is. The machine's own zone ("localtime") is refused: processes would not agree on it.
  [[nodiscard]] static Zone load(std::string_view name, std::string_view field = "time_zone");

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] Wall wall(Instant at) const;

  // The latest time that clocks have shown up to an instant: what they show, or, while they repeat a stretch after
  // having been set back, that stretch's end. It never goes back.
  [[nodiscard]] Wall latest_wall(Instant at) const;

  // When latest_wall reaches a time: the first of two occurrences, and for a time that is left out the shift's instant.
  [[nodiscard]] Instant reached(Wall wall) const;

  // Clocks are set from one time to another.
  struct Shift {
    Instant at;
    Wall from;
    Wall to;
  };
  [[nodiscard]] std::optional<Shift> next_shift(Instant after) const;

 private:
  std::string name_ = "UTC";
  absl::TimeZone rules_ = absl::UTCTimeZone();
};

}  // namespace hapax::schedule
