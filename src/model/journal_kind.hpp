// The kinds of entries in a workflow's journal.
#pragma once

#include <cstdint>

namespace hapax::model {

// Persisted in journal entries; never renumber. TaskContext::once uses kind 1. The comments show an entry's JSON.
enum class JournalKind : std::uint8_t {
  started = 10,      // {"build": …}; not stored without a build
  step = 11,         // {"us": duration in microseconds, "attempts": n, "result": …}
  step_failed = 12,  // {"us", "attempts", "error": {type, message}}
  step_retry = 13,   // a failed attempt that will be retried: {"attempt", "delay_us", "error"}
  task = 14,         // {"key", "input"?}; JournalEntry::child is the task's execution
  child = 15,        // a child workflow: as for a task, and "close"
  timer = 16,        // {"us"}
  signal = 17,       // a wait for a signal: {"timeout_us"?}
  choice = 18,       // the first of several to end: {"index", "of"}
  now = 19,          // {"us"}
  random = 20,       // {"bits"} as a string of digits
  uuid = 21,         // {"uuid"}
  patch = 22,        // JournalEntry::name is the change's id
  cancelled = 23,    // the call with this number threw the cancellation: {"call", "reason"}
  invalid = 24,      // the value for entry `of` did not convert, and the call threw: {"of", "error": {type, message}}
};

}  // namespace hapax::model
