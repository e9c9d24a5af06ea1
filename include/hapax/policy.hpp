// Policies as plain values with their defaults: retries, identity, the answer to a held key, rate limits.
#pragma once

#include <hapax/time.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax {

// How a retry delay is randomised.
enum class Jitter : std::uint8_t {
  full = 0,   // uniform in [0, delay]
  equal = 1,  // uniform in [delay/2, delay]
  none = 2,
};

// The delay before attempt n+1: min(cap, base * multiplier^(n-1)), then jitter. By default up to 0.5 s, 1 s, 2 s, 4 s,
// 8 s, 16 s, then 30 s.
struct RetryPolicy {
  Duration base = std::chrono::milliseconds(500);
  Duration cap = std::chrono::seconds(30);
  double multiplier = 2.0;
  Jitter jitter = Jitter::full;

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

// Which part of a request is its identity: requests of equal identity are the same.
enum class IdentityStrategy : std::uint8_t {
  strict = 0,           // the whole input
  caller_provided = 1,  // the caller's key, which is required
  always_unique = 2,    // no identity: each request runs
  contextual = 3,       // the input fields named in identity_keys
};

// Where a key is unique: among one task's requests, one queue's, or the whole namespace's.
enum class IdentityScope : std::uint8_t { task = 0, queue = 1, global = 2 };

// The part of the input that is compared when a key is used again, to tell a repeated request from a key used for
// another input (IdempotencyMismatch).
struct Fingerprint {
  bool compare = true;
  std::vector<std::string> pointers{};  // JSON Pointers; none: the whole input (for contextual: the identity_keys)

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// At most `count` starts in any period of length `per`, and `burst` more after a quiet time: "100/sec", "30/min burst
// 5".
struct RateLimit {
  std::int64_t count = 1;
  Duration per = std::chrono::seconds(1);
  std::int64_t burst = 0;

  friend bool operator==(const RateLimit&, const RateLimit&) = default;
};

// Reads a rate limit as format_rate_limit writes it. Throws InvalidArgument naming `field`.
[[nodiscard]] RateLimit parse_rate_limit(std::string_view text, std::string_view field = "rate_limit");
[[nodiscard]] std::string format_rate_limit(const RateLimit& limit);

// Whether a new request may start a run when the execution that holds its identity has ended.
enum class Reuse : std::uint8_t {
  failed_only = 0,  // start a new run after failed, cancelled or timed_out; a completed one answers with its result
  reject = 1,       // never start a new run
  allow = 2,        // start a new run after any outcome
};

// The answer to a new request when the execution that holds its identity has not ended.
enum class OnConflict : std::uint8_t {
  return_existing = 0,     // return the holder's handle
  reject = 1,              // throw TaskAlreadyExists (TaskAlreadyCompleted when the holder has completed)
  wait = 2,                // return the holder's handle when the holder has ended
  terminate_existing = 3,  // cancel the holder in the transaction that admits the new run
};

}  // namespace hapax
