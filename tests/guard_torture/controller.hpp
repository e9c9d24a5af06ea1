// Starts callers, kills and stops them, and judges what they wrote down.
#pragma once

#include "guard_torture/caller.hpp"

#include <string>

namespace hapax::guard_torture {

// The exit code: 0 when every promise held.
[[nodiscard]] int torture(Options options, const std::string& program);

}  // namespace hapax::guard_torture
