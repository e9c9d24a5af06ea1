// Waits for SIGINT or SIGTERM in a user's program.
#pragma once

namespace hapax::app {

// Returns the number of the signal. Several threads may wait at once; one signal wakes them all. Signal handlers are
// installed only while a thread waits, and each signal is taken once: the next signal acts as before. Throws UsageError
// when the handlers cannot be installed.
[[nodiscard]] int wait_for_stop_signal();

}  // namespace hapax::app
