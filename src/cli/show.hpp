// One execution in full, as show and dlq show print it.
#pragma once

#include "cli/shell.hpp"

namespace hapax::cli {

// Throws NotFound.
void show_execution(Shell& shell, const Uuid& id);

}  // namespace hapax::cli
