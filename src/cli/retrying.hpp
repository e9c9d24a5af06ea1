// Making new runs of ended executions, for retry and dlq retry.
#pragma once

#include "cli/backend.hpp"
#include "cli/shell.hpp"

#include <span>

namespace hapax::cli {

// Prints what became of each. Returns the exit code; a single named one that cannot be retried throws its typed error.
int retry_executions(Shell& shell, std::span<const Uuid> ids, const Retrying& how);

}  // namespace hapax::cli
