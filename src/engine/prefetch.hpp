// How many executions a worker holds at once.
#pragma once

#include <hapax/time.hpp>

namespace hapax::engine {

inline constexpr Duration prefetch_horizon = std::chrono::milliseconds(75);
inline constexpr int prefetch_cap = 2000;

struct PrefetchFacts {
  int threads = 1;
  double runs_per_second = 0;  // what the pool gets through, by measure; 0: nothing is known yet
  int fixed = 0;               // the user's own number; 0: none
};

// Enough for every thread plus what the pool runs within the horizon, so that it does not idle during a round trip, and
// no more, so that other workers find something and a shutdown releases little.
[[nodiscard]] int prefetch_target(const PrefetchFacts& facts);

}  // namespace hapax::engine
