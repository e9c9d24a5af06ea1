// The plays, each with what is checked of it.
#pragma once

#include "herd/stage.hpp"

namespace hapax::herd {

// Identical requests at one instant from several processes (SPEC I17, P3): alone, with the first one rolled back, killed
// mid-way, or cut off after its commit.
void thundering(Stage& stage, int requests, int processes);

// The same workflow started from so many processes, some of them killed and all of them coming again: one run, whose
// effects happen once (SPEC W1).
void starts(Stage& stage, int processes);

struct HistorySize {
  int keys = 10'000;
  int processes = 4;
};
// Linearizability of each identity under random operations of processes that are killed.
void history(Stage& stage, const HistorySize& size);

// Rate limits, limit keys and ordering keys (SPEC D12, D13, P6), with claimers killed and stopped.
void limits(Stage& stage, Duration how_long);

// Builds of a program whose workflow differs, at once and one after the other (SPEC W5).
void deploy(Stage& stage);

struct TickersSize {
  int processes = 8;
  int activities = 100;
  Duration how_long = std::chrono::seconds(30);
  Duration outage = std::chrono::seconds(10);
};
// Tickers that are killed: each due tick has one execution; and one that is stopped: what misfire policies make of it.
void tickers(Stage& stage, const TickersSize& size);

// The same event by many processes, and many events with repeats by senders that are killed (SPEC S8).
void events(Stage& stage, int events, int processes);

}  // namespace hapax::herd
