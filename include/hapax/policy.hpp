// How an execution is retried and how a taken identity is answered: plain values with their defaults.
#pragma once

#include <hapax/time.hpp>

#include <cstdint>

namespace hapax {

enum class Jitter : std::uint8_t {
  full = 0,   // uniform in [0, delay]
  equal = 1,  // uniform in [delay/2, delay]
  none = 2,
};

// Delay before attempt n+1: min(cap, base * multiplier^(n-1)), then jitter.
struct RetryPolicy {
  Duration base = std::chrono::milliseconds(500);
  Duration cap = std::chrono::seconds(30);
  double multiplier = 2.0;
  Jitter jitter = Jitter::full;

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

// What a new enqueue may do with an identity whose holder has ended.
enum class Reuse : std::uint8_t {
  failed_only = 0,  // a new run if it failed, was cancelled or timed out; a completed one answers with its result
  reject = 1,       // never a new run
  allow = 2,        // a new run after any ending
};

// What a new enqueue does when a live execution holds the identity.
enum class OnConflict : std::uint8_t {
  return_existing = 0,
  reject = 1,              // throw TaskAlreadyExists (TaskAlreadyCompleted for a completed holder)
  wait = 2,                // answer when the holder has ended
  terminate_existing = 3,  // cancel the holder in the transaction that admits the new run
};

}  // namespace hapax
