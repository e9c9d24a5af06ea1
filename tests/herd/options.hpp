// What the herd was asked to do. One program plays every part: children are started with --role, as the torture
// program's are, and understand its options.
#pragma once

#include <cstdint>
#include <string>

namespace hapax::herd {

struct Options {
  std::string mode;              // "thundering", "history", "limits" or "all"
  std::string store = "sqlite";  // or "postgres"
  std::uint64_t seed = 0;        // 0: from the clock; printed either way
  int processes = 0;             // 0: the mode's own number
  int requests = 500;
  int keys = 10'000;
  bool slice = false;  // the short, fixed run of the test suite
  int seconds = 0;     // how long limits are tried; 0: the mode's own
  bool keep = false;   // keep the folder of a run that passed, too
};

// Prints what is wrong to standard error and exits 64.
[[nodiscard]] Options parse_options(int argc, char** argv);

}  // namespace hapax::herd
