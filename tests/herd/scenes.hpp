// The plays, each with what is checked of it.
#pragma once

#include "herd/stage.hpp"

namespace hapax::herd {

// Identical requests at one instant from several processes (SPEC I17, P3): alone, with the first one rolled back, killed
// mid-way, or cut off after its commit.
void thundering(Stage& stage, int requests, int processes);

struct HistorySize {
  int keys = 10'000;
  int processes = 4;
};
// Linearizability of each identity under random operations of processes that are killed.
void history(Stage& stage, const HistorySize& size);

// Rate limits, limit keys and ordering keys (SPEC D12, D13, P6), with claimers killed and stopped.
void limits(Stage& stage, Duration how_long);

}  // namespace hapax::herd
