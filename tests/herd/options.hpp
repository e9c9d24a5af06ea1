// The herd's options. The same program is the controller and, with --role, every child; children understand the torture
// program's options.
#pragma once

#include <cstdint>
#include <string>

namespace hapax::herd {

struct Options {
  std::string mode;              // "thundering", "history", "limits" or "all"
  std::string store = "sqlite";  // or "postgres"
  std::uint64_t seed = 0;        // 0: taken from the clock; always printed
  int processes = 0;             // 0: the mode's default
  int requests = 500;
  int keys = 10'000;
  bool slice = false;  // the short, fixed run of the test suite
  int seconds = 0;     // duration of the limits mode; 0: the mode's default
  bool keep = false;   // also keep the folder of a run that passed
};

// On a usage error prints it to standard error and exits with code 64.
[[nodiscard]] Options parse_options(int argc, char** argv);

}  // namespace hapax::herd
