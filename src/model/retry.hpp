// When a failed attempt is tried again, and when it is the last: pure rules.
#pragma once

#include "model/execution.hpp"

#include <optional>

namespace hapax::model {

// The delay before the attempt after `attempt` (1-based). `fraction` in [0, 1) is the jitter's draw.
[[nodiscard]] Duration retry_delay(const RetryPolicy& policy, int attempt, double fraction);

// How a handler's failure is to be treated, as far as the handler or worker said.
struct Failure {
  ErrorInfo error;
  bool permanent = false;               // never retry
  std::optional<Duration> retry_after;  // the handler's own delay
};

// The Finish for a failed attempt of `claim`: retry while attempts are left, else failed.
[[nodiscard]] Finish finish_failure(const Claim& claim, const Failure& failure, double fraction, Duration ran_for);

// Stored compactly on the execution only when it is not the default; text is "base_us:cap_us:multiplier:jitter".
[[nodiscard]] std::string encode_retry(const RetryPolicy& policy);
[[nodiscard]] RetryPolicy decode_retry(std::string_view text);

}  // namespace hapax::model
