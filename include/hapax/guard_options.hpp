// Options of a guarded function: what happens when the call was made before, fails, crashes, or the store is down.
#pragma once

#include <hapax/guard_store.hpp>
#include <hapax/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace hapax {

// The answer to a call that was made before.
enum class OnDuplicate : std::uint8_t {
  return_result = 0,  // the first call's result; waits for it, up to wait_timeout, while that call is in progress
  raise = 1,          // DuplicateExecution, also while the first call is in progress
  wait = 2,           // the first call's result; waits without limit unless wait_timeout is set
};

// The state that a failed call leaves behind.
enum class OnFailure : std::uint8_t {
  unlock = 0,  // a failed call may be made again
  lock = 1,    // the failure is the outcome: later calls throw RecordedFailure with its message
};

// The behaviour of a call when the store cannot be reached before the function runs.
enum class OnStoreError : std::uint8_t {
  fail = 0,  // the call throws StoreUnavailable and the function does not run
  run = 1,   // the function runs unguarded with a warning: for effects that are better doubled than missed
};

// A problem that no caller sees as an exception; see GuardOptions::on_warning.
struct GuardWarning {
  std::string guard{};  // the guard's name
  std::string key{};    // of the call; empty when the warning is about no single call
  std::string message{};
};

struct GuardOptions {
  // How long the record of an ended call is kept; none: until it is forgotten.
  std::optional<Duration> ttl{};

  // Where the records are. Required: a default cannot know whether "once" means one process or many machines.
  GuardStorePtr store{};

  OnDuplicate on_duplicate = OnDuplicate::return_result;

  // How long a duplicate waits for the first call before it throws WaitTimeout. None: one minute under return_result,
  // without limit under wait.
  std::optional<Duration> wait_timeout{};

  OnFailure on_failure = OnFailure::unlock;

  // A call whose heartbeat is older than this is taken over by the next caller: 100 ms to 24 h. None: never, for
  // effects that must not be tried twice; a call that crashes then blocks its key until an operator forgets its record.
  std::optional<Duration> takeover_after = std::chrono::seconds(30);

  OnStoreError on_store_error = OnStoreError::fail;

  // With a key function: whether a call with a known key and other arguments throws IdempotencyMismatch.
  bool compare_arguments = true;

  // How many completed records this process caches, so that a repeated call does not ask the store; 0: none. A record
  // that was forgotten or expired elsewhere may be answered from the cache for up to cache_for.
  std::size_t cache_records = 0;
  Duration cache_for = std::chrono::minutes(1);

  std::string namespace_name = "default";

  // Called with problems that no caller sees: results that could not be kept, heartbeats that failed, calls that ran
  // unguarded. Runs on the thread that met the problem; must not throw or call guards.
  std::function<void(const GuardWarning&)> on_warning{};
};

}  // namespace hapax
