// How an execution is retried, what makes two requests the same, how a taken identity is answered, and how fast a queue
// may go: plain values with their defaults.
#pragma once

#include <hapax/time.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// What makes two requests of a task the same.
enum class IdentityStrategy : std::uint8_t {
  strict = 0,           // the whole input
  caller_provided = 1,  // the caller's key, which is required
  always_unique = 2,    // nothing: each request runs
  contextual = 3,       // the input's fields named in identity_keys
};

// Among what a key is unique.
enum class IdentityScope : std::uint8_t { task = 0, queue = 1, global = 2 };

// What is compared when a key is met again, to tell a repetition from a key used twice.
struct Fingerprint {
  bool compare = true;
  std::vector<std::string> pointers{};  // JSON Pointers; none: the whole input (for contextual: the identity_keys)

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// At most `count` starts in any stretch of `per`, and `burst` more after a quiet time. "100/sec", "30/min burst 5".
struct RateLimit {
  std::int64_t count = 1;
  Duration per = std::chrono::seconds(1);
  std::int64_t burst = 0;

  friend bool operator==(const RateLimit&, const RateLimit&) = default;
};

// Throws InvalidArgument naming `field`.
[[nodiscard]] RateLimit parse_rate_limit(std::string_view text, std::string_view field = "rate_limit");
[[nodiscard]] std::string format_rate_limit(const RateLimit& limit);

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
