// Pure functions that turn a handler's result or exception into the outcome to record.
#pragma once

#include "engine/run.hpp"
#include "engine/worker.hpp"
#include "model/execution.hpp"

#include <optional>

namespace hapax::engine {

// A run whose outcome is decided, on its way to the store.
struct Settled {
  RunPtr run;
  std::optional<model::Finish> finish;  // none: the handler's own transaction recorded the outcome
  std::string result;                   // the result, if the outcome was recorded already
};

// Calls the handler; any exception becomes an Ending. A result over the limit is a permanent failure.
[[nodiscard]] Ending run_handler(const Handler& handler, Run& run) noexcept;

struct Attempted {
  Duration ran_for{0};
  double jitter = 0;  // random number for the retry's delay, in [0, 1)
};

// Returns the fenced outcome; none for Ending::settled. A failure after a cancellation request is recorded as
// `cancelled`.
[[nodiscard]] std::optional<model::Finish> to_finish(const Run& run, Ending ending, const Attempted& attempted);

// Returns the outcome of an attempt that exceeded its timeout (failed, retried while attempts are left) or the
// execution's deadline (timed_out).
[[nodiscard]] model::Finish timeout_finish(const Run& run, bool deadline, const Attempted& attempted);

// Returns the outcome of a handler that did not return after a cancellation; the recorded reason is the argument of
// cancel().
[[nodiscard]] model::Finish cancelled_finish(const Run& run, const Attempted& attempted);

[[nodiscard]] model::Finish release_finish(const Run& run);

// Returns a permanent failure, in ASCII, that replaces an outcome whose content the store refused.
[[nodiscard]] model::Finish unrecordable_finish(const model::Finish& refused, std::string_view reason);

// Returns the terminal status after an accepted finish; none when the execution is pending again.
[[nodiscard]] std::optional<Status> terminal_status(const model::Finish& finish);

}  // namespace hapax::engine
