// Making new runs of ended executions, for retry and dlq retry.
#pragma once

#include "cli/shell.hpp"

#include <span>

namespace hapax::cli {

struct Retrying {
  bool new_effect_key = false;
  bool named = false;  // ids were given one by one: what cannot be retried is an error
};

// Prints what became of each. Returns the exit code; a single named one that cannot be retried throws its typed error.
int retry_executions(Shell& shell, std::span<const Uuid> ids, const Retrying& how);

}  // namespace hapax::cli
