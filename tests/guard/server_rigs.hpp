// Rigs of the stores on a database or a server.
#pragma once

#include "rig.hpp"

namespace hapax::guard_tests {

[[nodiscard]] std::vector<RigFactory> server_rigs();

// A variable that ./dev test sets. Throws if it is not set.
[[nodiscard]] std::string environment(const char* name);

}  // namespace hapax::guard_tests
