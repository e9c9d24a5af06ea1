// Zone: an IANA time zone, which converts between instants and wall clock times.
//
// A small value type. Copies share the rules, which are read once per process and kept. Any thread.
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

  // "Europe/Zurich", "UTC". Throws InvalidArgument naming `field` for a name that is not in the zone database, and
  // suggests the nearest name. The machine's own zone ("localtime") is refused, as processes on other machines may
  // differ.
  [[nodiscard]] static Zone load(std::string_view name, std::string_view field = "time_zone");

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] Wall wall(Instant at) const;

  // The latest wall clock time shown up to an instant: the current one or, while clocks repeat an interval after having
  // been set back, that interval's end. Never decreases.
  [[nodiscard]] Wall latest_wall(Instant at) const;

  // When clocks first reach or pass a time: the first of two occurrences; for a skipped time, the instant of the shift.
  [[nodiscard]] Instant reached(Wall wall) const;

  // A clock shift: at `at`, clocks are set from one time to another.
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
