// A case is a random expression, zone and week; half of the weeks contain a shift of the zone's clocks. The timetable's
// answers are compared with the brute-force scan.
#pragma once

#include "schedule/cron/scan.hpp"
#include "schedule/zone.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hapax::cron_oracle {

// The zones of the cases with their shifts. Immutable once made; any thread may read it.
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

// Number and seed of a case: enough to make it again.
struct CaseId {
  std::uint64_t seed;
  std::uint64_t number;
};

struct Verdict {
  std::size_t ticks = 0;
  bool at_shift = false;
  bool never = false;                       // the expression was refused, rightly, because it never fires
  std::optional<std::string> disagreement;  // with everything needed to reproduce it
};

[[nodiscard]] Verdict check_case(const World& world, const CaseId& id);

}  // namespace hapax::cron_oracle
