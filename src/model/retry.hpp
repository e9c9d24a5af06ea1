// Retry rules: when a failed attempt is retried, and which attempt is the last. Pure functions.
#pragma once

#include "model/execution.hpp"

#include <optional>

namespace hapax::model {

// The delay after attempt `attempt` (1-based). `fraction` in [0, 1) is the random draw for the jitter. With the default
// policy (base 500 ms, multiplier 2, cap 30 s, full jitter): 0-0.5 s, 0-1 s, 0-2 s, … up to 0-30 s.
[[nodiscard]] Duration retry_delay(const RetryPolicy& policy, int attempt, double fraction);

// A handler's failure, and how the handler or worker asked to treat it.
struct Failure {
  ErrorInfo error;
  bool permanent = false;               // never retry
  std::optional<Duration> retry_after;  // a delay that the handler asked for
};

// The Finish for a failed attempt of `claim`: retry while attempts are left, else failed.
[[nodiscard]] Finish finish_failure(const Claim& claim, const Failure& failure, double fraction, Duration ran_for);

// The stored form, "base_us:cap_us:multiplier:jitter". An execution stores its policy only if it is not the default.
[[nodiscard]] std::string encode_retry(const RetryPolicy& policy);
[[nodiscard]] RetryPolicy decode_retry(std::string_view text);

}  // namespace hapax::model
