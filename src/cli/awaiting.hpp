// Waiting for an execution's end, for enqueue --wait and wait.
#pragma once

#include "cli/shell.hpp"

#include <optional>

namespace hapax::cli {

// The outcome when it is terminal, or what is known when `at_most` is over (status still pending or running). None: for
// as long as it takes. Of a workflow that continued as new: its last run's. Throws ResultExpired when the record is gone.
[[nodiscard]] model::Outcome await_outcome(Shell& shell, const Uuid& id, std::optional<Duration> at_most);

// The exit code of SPEC L0's wait: 0 completed, 1 ended otherwise, 124 still going.
[[nodiscard]] int exit_code_of(Status status);

// Prints {"id","status","result"?,"error"?} or its text form.
void print_outcome(const Shell& shell, const model::Outcome& outcome);

}  // namespace hapax::cli
