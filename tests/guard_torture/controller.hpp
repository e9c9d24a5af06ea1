// Starts callers, kills and stops them, and checks their logs.
#pragma once

#include "guard_torture/caller.hpp"

#include <string>

namespace hapax::guard_torture {

// Returns the exit code: 0 if no promise was broken.
[[nodiscard]] int torture(Options options, const std::string& program);

}  // namespace hapax::guard_torture
