// One execution in full, as show and dlq show print it.
#pragma once

#include "cli/shell.hpp"

#include <string>

namespace hapax::cli {

// `document` is what Backend::show gave.
void show_execution(Shell& shell, const std::string& document);

}  // namespace hapax::cli
