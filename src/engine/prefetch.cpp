#include "engine/prefetch.hpp"

#include <algorithm>

namespace hapax::engine {

int prefetch_target(const PrefetchFacts& facts) {
  if (facts.fixed > 0) { return facts.fixed; }
  const double seconds = std::chrono::duration<double>(prefetch_horizon).count();
  const double ahead = std::max(0.0, facts.runs_per_second) * seconds;
  const int cap = std::max(prefetch_cap, facts.threads);
  return ahead >= cap ? cap : std::min(cap, facts.threads + static_cast<int>(ahead));
}

}  // namespace hapax::engine
