// What the torture program was asked to do. One program plays every part: without --role it is the controller.
#pragma once

#include <hapax/time.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace hapax::torture {

// Short, so that zombies and recoveries happen many times a minute.
inline constexpr Duration lease = std::chrono::seconds(1);
// Beats come at this pace whatever the lease is.
inline constexpr Duration heartbeat = lease / 3;

struct Options {
  std::string store = "sqlite";  // or "postgres"
  int kills = 100;
  std::uint64_t seed = 0;  // 0: from the clock; printed either way
  int seconds = 0;         // most time the kills may take; 0: two seconds a kill and a minute
  int workers = 6;
  int producers = 4;
  bool slice = false;  // the short, fixed run of the test suite
  bool raw = false;    // only processes on the seam itself, without the engine: whose fault is it?
  bool keep = false;   // keep the folder of a run that passed, too
  // Generated workflows instead of the load of tasks: at least so many, and as many as the kills take. 0: none.
  int programs = 0;

  // Children only.
  std::string role;    // "worker", "engine-worker", "workflow-worker", "producer" or "engine-producer"
  std::string url;     // of the store
  std::string folder;  // where logs go
  int number = 0;      // of the child; never used twice
  Duration lease = torture::lease;
  std::vector<std::string> queues;
};

// Prints what is wrong to standard error and exits 64.
[[nodiscard]] Options parse_options(int argc, char** argv);

}  // namespace hapax::torture
