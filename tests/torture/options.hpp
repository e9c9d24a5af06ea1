// The torture program's options. The same program is the controller and, with --role, every kind of child.
#pragma once

#include <hapax/time.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace hapax::torture {

// Short, so that zombies and recoveries occur many times a minute.
inline constexpr Duration lease = std::chrono::seconds(1);
// Beats keep this interval whatever the lease is.
inline constexpr Duration heartbeat = lease / 3;

struct Options {
  std::string store = "sqlite";  // or "postgres"
  int kills = 100;
  std::uint64_t seed = 0;  // 0: taken from the clock; always printed
  int seconds = 0;         // longest time for the kills; 0: 2 s per kill plus 60 s
  int workers = 6;
  int producers = 4;
  bool slice = false;  // the short, fixed run of the test suite
  bool raw = false;    // only processes on the store interface, without the engine: shows which of the two has a fault
  bool keep = false;   // also keep the folder of a run that passed
  // Generated workflows instead of the load of tasks: at least this many, and as many as the kills need. 0: none.
  int programs = 0;

  // For children only.
  std::string role;    // "worker", "engine-worker", "workflow-worker", "producer" or "engine-producer"
  std::string url;     // of the store
  std::string folder;  // for logs
  int number = 0;      // number of the child, never used twice
  Duration lease = torture::lease;
  std::vector<std::string> queues;
};

// On a usage error prints it to standard error and exits with code 64.
[[nodiscard]] Options parse_options(int argc, char** argv);

}  // namespace hapax::torture
