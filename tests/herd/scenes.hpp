// The scenes, each with its checks.
#pragma once

#include "herd/stage.hpp"

namespace hapax::herd {

// Identical requests at one instant from several processes: undisturbed, or with the first request rolled back, killed
// midway, or cut off after its commit.
void thundering(Stage& stage, int requests, int processes);

// The same workflow started by `processes` processes, all of which repeat the start and some of which are killed: one
// run, whose effects happen once.
void starts(Stage& stage, int processes);

struct HistorySize {
  int keys = 10'000;
  int processes = 4;
};
// Linearizability of each identity under random operations of processes that are killed.
void history(Stage& stage, const HistorySize& size);

// Rate limits, limit keys and ordering keys, with claimers killed and stopped.
void limits(Stage& stage, Duration how_long);

// Builds of a program whose workflow code differs, at the same time and one after the other.
void deploy(Stage& stage);

struct TickersSize {
  int processes = 8;
  int activities = 100;
  Duration how_long = std::chrono::seconds(30);
  Duration outage = std::chrono::seconds(10);
};
// Tickers that are killed: each due tick has one execution. A ticker that is stopped: each misfire policy handles the
// outage.
void tickers(Stage& stage, const TickersSize& size);

// The same event from many processes, and many events with repeats from senders that are killed.
void events(Stage& stage, int events, int processes);

}  // namespace hapax::herd
