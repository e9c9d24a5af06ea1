// Lists of executions, as list and dlq list print them.
#pragma once

#include "cli/backend.hpp"
#include "cli/shell.hpp"

#include <cstdint>
#include <string>

namespace hapax::cli {

// What is listed, up to `limit`: a table, or a JSON array written as the pages come.
void print_executions(Shell& shell, Listing listing, std::int64_t limit, const std::string& when_empty);

}  // namespace hapax::cli
