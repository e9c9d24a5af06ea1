// Waits for an execution to end, for `wait` and for --wait of `enqueue`, `start` and `activity trigger`.
#pragma once

#include "cli/shell.hpp"

#include <optional>

namespace hapax::cli {

// Returns the outcome once the execution has ended, or its status so far (pending or running) if `at_most` passes
// first. Without `at_most` the wait is unlimited. For a workflow that continued as new, returns the outcome of its last
// run. Throws ResultExpired when the record is gone.
[[nodiscard]] model::Outcome await_outcome(Shell& shell, const Uuid& id, std::optional<Duration> at_most);

// The exit code of `hapax wait`: 0 completed, 1 ended otherwise, 124 still going.
[[nodiscard]] int exit_code_of(Status status);

// Prints {"id","status","result"?,"error"?} or its text form.
void print_outcome(const Shell& shell, const model::Outcome& outcome);

}  // namespace hapax::cli
