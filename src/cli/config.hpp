// The parts of `hapax config`, which is in several files.
#pragma once

#include "cli/shell.hpp"

namespace hapax::cli {

// Says what the configuration says or what is wrong with it; returns the exit code.
int check_configuration(const Shell& shell);

}  // namespace hapax::cli
