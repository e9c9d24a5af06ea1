// How a guarded function behaves when its call was made before, fails, crashes, or finds its store down.
#pragma once

#include <hapax/guard_store.hpp>
#include <hapax/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace hapax {

// What a call gets whose first one was made before.
enum class OnDuplicate : std::uint8_t {
  return_result = 0,  // its result; while it is in progress, wait for it, bounded
  raise = 1,          // DuplicateExecution, also while it is in progress
  wait = 2,           // its result, however long it takes, or until wait_timeout
};

enum class OnFailure : std::uint8_t {
  unlock = 0,  // a failed call may be made again
  lock = 1,    // the failure is the outcome: later calls throw RecordedFailure with its message
};

// What happens when the store cannot be reached before the function runs.
enum class OnStoreError : std::uint8_t {
  fail = 0,  // the call throws StoreUnavailable and the function does not run
  run = 1,   // the function runs unguarded, and a warning is given: for effects that had better double than not happen
};

struct GuardWarning {
  std::string guard{};  // its name
  std::string key{};    // of the call; empty when it is about no single one
  std::string message{};
};

struct GuardOptions {
  // How long the record of an ended call is kept; none: until it is forgotten.
  std::optional<Duration> ttl{};

  // Where records are. Required: whether "once" means one process or many machines is not for a default to say.
  GuardStorePtr store{};

  OnDuplicate on_duplicate = OnDuplicate::return_result;

  // How long a duplicate waits for the first call before it throws WaitTimeout. None: one minute under return_result, and
  // as long as it takes under wait.
  std::optional<Duration> wait_timeout{};

  OnFailure on_failure = OnFailure::unlock;

  // A call whose heartbeat is older is taken over by the next caller, 100 ms to 24 h; none: never, for effects that must not
  // be tried twice. Such a call that crashes blocks its key until somebody forgets it.
  std::optional<Duration> takeover_after = std::chrono::seconds(30);

  OnStoreError on_store_error = OnStoreError::fail;

  // With a key function: whether a call with a known key but other arguments is an IdempotencyMismatch.
  bool compare_arguments = true;

  // Completed records kept in this process at most, so that a hit does not ask a slow store; 0: none are. What is forgotten
  // or expires elsewhere is answered from here for at most cache_for.
  std::size_t cache_records = 0;
  Duration cache_for = std::chrono::minutes(1);

  std::string ns = "default";

  // Told what no caller is told: results that could not be kept, heartbeats that failed, calls that ran unguarded. Called on
  // the thread it concerns; must not throw, must not call guards.
  std::function<void(const GuardWarning&)> on_warning{};
};

}  // namespace hapax
