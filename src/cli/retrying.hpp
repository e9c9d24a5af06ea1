// Makes new runs of ended executions, for `retry` and `dlq retry`.
#pragma once

#include "cli/backend.hpp"
#include "cli/shell.hpp"

#include <span>

namespace hapax::cli {

// Prints the verdict on each execution; returns the exit code. Throws the typed error if a single named execution
// cannot be retried.
int retry_executions(Shell& shell, std::span<const Uuid> ids, const Retrying& how);

}  // namespace hapax::cli
