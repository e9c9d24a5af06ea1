// What a handler throws to say more than "this attempt failed".
//
// Anything else it throws is a failed attempt that is tried again, after the task's retry delay, while attempts are left.
#pragma once

#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include <string>
#include <utility>

namespace hapax {

// Never try again: the execution fails now and becomes a dead letter.
class Permanent : public Error {
 public:
  explicit Permanent(const std::string& message) : Error("Permanent", message) {}
  // `type` is recorded as the error's type instead of "Permanent".
  Permanent(const std::string& type, const std::string& message) : Error(type, message) {}
};

// The attempt failed; try again after this delay instead of the task's own.
class RetryAfter : public Error {
 public:
  explicit RetryAfter(Duration retry_delay, const std::string& message = "the handler asked for a retry")
      : Error("RetryAfter", message), delay(retry_delay) {}
  const Duration delay;
};

// Not now: run again after this delay, and do not count this as an attempt.
class Snooze : public Error {
 public:
  explicit Snooze(Duration snooze_delay) : Error("Snooze", "the handler asked to run later"), delay(snooze_delay) {}
  const Duration delay;
};

// The handler saw that it was asked to stop and did. Recorded as cancelled if a cancellation was asked for.
class Cancelled : public Error {
 public:
  explicit Cancelled(const std::string& reason = "the handler stopped as it was asked to")
      : Error("Cancelled", reason) {}
};

}  // namespace hapax
