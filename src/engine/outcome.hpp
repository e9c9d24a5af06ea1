// Turns what a handler did into the outcome to record; pure functions.
#pragma once

#include "engine/run.hpp"
#include "engine/worker.hpp"
#include "model/execution.hpp"

#include <optional>

namespace hapax::engine {

// A run whose outcome is decided, on its way to the store.
struct Settled {
  RunPtr run;
  std::optional<model::Finish> finish;  // none: recorded already, in the handler's own transaction
  std::string result;                   // of an outcome that was recorded already
};

// Calls the handler; any exception becomes an Ending. A result over the limit is a permanent failure.
[[nodiscard]] Ending run_handler(const Handler& handler, Run& run) noexcept;

struct Attempted {
  Duration ran_for{0};
  double jitter = 0;  // the draw for the retry's delay, in [0, 1)
};

// The fenced outcome; none for Ending::settled. A failure after a cancellation was asked for is `cancelled`.
[[nodiscard]] std::optional<model::Finish> to_finish(const Run& run, Ending ending, const Attempted& attempted);

// The failed attempt of a handler that ran into its timeout (retried while attempts are left) or into the execution's
// deadline (timed_out).
[[nodiscard]] model::Finish timeout_finish(const Run& run, bool deadline, const Attempted& attempted);

// For a handler that did not return after its cancellation; the recorded reason is the one given to cancel().
[[nodiscard]] model::Finish cancelled_finish(const Run& run, const Attempted& attempted);

[[nodiscard]] model::Finish release_finish(const Run& run);

// Replaces an outcome whose content the store refuses: a permanent failure that says so, in ASCII.
[[nodiscard]] model::Finish unrecordable_finish(const model::Finish& refused, std::string_view reason);

// The terminal status after an accepted finish; none when the execution is pending again.
[[nodiscard]] std::optional<Status> terminal_status(const model::Finish& finish);

}  // namespace hapax::engine
