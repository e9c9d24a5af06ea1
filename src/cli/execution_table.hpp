// Prints lists of executions, for `list` and `dlq list`.
#pragma once

#include "cli/backend.hpp"
#include "cli/shell.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace hapax::cli {

struct Printing {
  Listing listing;
  std::int64_t limit = 50;
  std::string when_empty;
  std::function<void()> check_empty;  // throws if an empty list is an error
};

// Prints the listed executions, up to the limit: a table, or with --json an array that is written page by page.
void print_executions(Shell& shell, Printing printing);

}  // namespace hapax::cli
