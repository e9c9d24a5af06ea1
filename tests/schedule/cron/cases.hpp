// A case is a random expression, zone and week, half of the weeks around a shift of the zone's clocks. The timetable's
// answers about it are compared with the brute-force scan.
#pragma once

#include "schedule/cron/scan.hpp"
#include "schedule/zone.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hapax::cron_oracle {

// The zones that cases are made of, with their shifts. Read only once made; any thread.
class World {
 public:
  World();

  struct Place {
    schedule::Zone zone;
    absl::TimeZone rules;
    std::vector<std::int64_t> shifts_s;  // from 1973 to 2199
  };
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }

 private:
  std::vector<Place> places_;
};

// Which case, of which seed: enough to make it again.
struct CaseId {
  std::uint64_t seed;
  std::uint64_t number;
};

struct Verdict {
  std::size_t ticks = 0;
  bool at_shift = false;
  bool never = false;                       // the expression was rightly refused as never firing
  std::optional<std::string> disagreement;  // with all it takes to see it again
};

[[nodiscard]] Verdict check_case(const World& world, const CaseId& id);

}  // namespace hapax::cron_oracle
