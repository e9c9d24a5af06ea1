// What an entry of a workflow's journal is.
#pragma once

#include <cstdint>

namespace hapax::model {

// Persisted in journal entries; never renumber. 1 is TaskContext::once's.
enum class JournalKind : std::uint8_t {
  started = 10,      // {"build": …}; not stored without a build
  step = 11,         // {"us": how long, "attempts": n, "result": …}
  step_failed = 12,  // {"us", "attempts", "error": {type, message}}
  step_retry = 13,   // an attempt that failed and will be repeated: {"attempt", "delay_us", "error"}
  task = 14,         // {"key", "input"?}; JournalEntry::child is its execution
  child = 15,        // a workflow, likewise, with "close"
  timer = 16,        // {"us"}
  signal = 17,       // waits for a signal: {"timeout_us"?}
  choice = 18,       // which of several was first: {"index", "of"}
  now = 19,          // {"us"}
  random = 20,       // {"bits"} as a string of digits
  uuid = 21,         // {"uuid"}
  patch = 22,        // the name is the change's
  cancelled = 23,    // the cancellation was thrown in the call of this number: {"call", "reason"}
  invalid = 24,      // what the entry at `of` got did not convert, and the call threw: {"of", "error": {type, message}}
};

}  // namespace hapax::model
