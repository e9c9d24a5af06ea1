// The parts of `hapax config` that are in files of their own.
#pragma once

#include "cli/shell.hpp"

namespace hapax::cli {

// `hapax config check`: prints the values of the configuration, or all its problems. Returns the exit code.
int check_configuration(const Shell& shell);

}  // namespace hapax::cli
