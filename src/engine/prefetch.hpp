// Prefetch: how many executions a worker holds at once (decision 9).
#pragma once

#include <hapax/time.hpp>

#include <algorithm>

namespace hapax::engine {

inline constexpr Duration prefetch_horizon = std::chrono::milliseconds(75);
inline constexpr int prefetch_cap = 2000;

struct PrefetchFacts {
  int threads = 1;
  double runs_per_second = 0;  // measured rate of the pool; 0: not known yet
  int fixed = 0;               // the user's setting; 0: none
};

// One execution for each thread plus what the pool runs within the horizon, at most prefetch_cap. This number keeps the
// threads busy during a round trip, leaves work for other workers, and lets a shutdown release little.
[[nodiscard]] inline int prefetch_target(const PrefetchFacts& facts) {
  if (facts.fixed > 0) { return facts.fixed; }
  const double seconds = std::chrono::duration<double>(prefetch_horizon).count();
  const double ahead = std::max(0.0, facts.runs_per_second) * seconds;
  const int cap = std::max(prefetch_cap, facts.threads);
  return ahead >= cap ? cap : std::min(cap, facts.threads + static_cast<int>(ahead));
}

}  // namespace hapax::engine
