// Waiting for SIGINT or SIGTERM in a program that is not ours.
#pragma once

namespace hapax::engine {

// Returns the number of the signal that came. Several threads may wait at once; one signal wakes them all. Handlers stand
// only while somebody waits, and each signal is taken once: the next one does what it did before. Throws UsageError when the
// handlers cannot be set.
[[nodiscard]] int wait_for_stop_signal();

}  // namespace hapax::engine
