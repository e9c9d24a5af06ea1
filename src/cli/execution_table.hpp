// Lists of executions, as list and dlq list print them.
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
  std::function<void()> check_empty;  // throws what makes an empty list an error
};

// What is listed, up to the limit: a table, or a JSON array written as the pages come.
void print_executions(Shell& shell, Printing printing);

}  // namespace hapax::cli
