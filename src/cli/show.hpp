// Prints one execution in full, for `show` and `dlq show`.
#pragma once

#include "cli/shell.hpp"

#include <string>

namespace hapax::cli {

// `document` is an answer of Backend::show.
void show_execution(Shell& shell, const std::string& document);

}  // namespace hapax::cli
