// Exceptions with which a handler says more than "this attempt failed".
//
// Any other exception is a failed attempt, retried after the task's retry delay while attempts are left.
#pragma once

#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include <string>
#include <utility>

namespace hapax {

// Do not retry: the execution fails now and becomes a dead letter.
class Permanent : public Error {
 public:
  explicit Permanent(const std::string& message) : Error("Permanent", message) {}
  // `type` is recorded as the error's type instead of "Permanent".
  Permanent(const std::string& type, const std::string& message) : Error(type, message) {}
};

// The attempt failed; retry after `delay` instead of the task's own retry delay.
class RetryAfter : public Error {
 public:
  explicit RetryAfter(Duration retry_delay, const std::string& message = "the handler asked for a retry")
      : Error("RetryAfter", message), delay(retry_delay) {}
  const Duration delay;
};

// Run again after `delay`; this attempt does not count.
class Snooze : public Error {
 public:
  explicit Snooze(Duration snooze_delay) : Error("Snooze", "the handler asked to run later"), delay(snooze_delay) {}
  const Duration delay;
};

// The handler stopped because it was asked to. The outcome is `cancelled` if a cancellation was requested.
class Cancelled : public Error {
 public:
  explicit Cancelled(const std::string& reason = "the handler stopped as it was asked to")
      : Error("Cancelled", reason) {}
};

}  // namespace hapax
