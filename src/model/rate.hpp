// Rate limits: the generic cell rate algorithm (GCRA) as pure functions.
//
// A limit's whole state is one instant, the theoretical arrival time, at which the bucket is empty again. A start moves
// the instant on by an interval; the instant may lie ahead of now by at most a tolerance. The interval is a little
// longer than per / count (2 %, at most 5 s a period), and the tolerance is that slack plus `burst` intervals. So a
// claim that comes a little late loses no start, and still no half-open interval of length `per` has more than count +
// burst starts (decision 16).
#pragma once

#include "model/execution.hpp"

#include <optional>

namespace hapax::model {

class RateMeter {
 public:
  // `arrival` is the stored state; none: nothing has started yet.
  RateMeter(const RateLimit& limit, const std::optional<Time>& arrival, Time now);

  // Whether a start of that weight is allowed now. A start heavier than the bucket is allowed when the bucket is empty.
  [[nodiscard]] bool allows(int weight) const;
  // How long until a start of that weight is allowed; 0: now.
  [[nodiscard]] Duration wait(int weight) const;
  // The greatest weight that may start now; 0: none.
  [[nodiscard]] int heaviest() const;
  void start(int weight);
  // The state to store.
  [[nodiscard]] Time arrival() const;

 private:
  double interval_us_;
  double tolerance_us_;
  double ahead_us_;  // how far the arrival time lies ahead of now
  Time now_;
};

// How far ahead of now the arrival may lie after a change to this limit. A changed limit takes effect at once: starts
// under the old limit count as at most one full bucket, so the next execution may start now and later ones start at the
// new rate.
[[nodiscard]] Duration debt_carried_over(const RateLimit& limit);
// The arrival to store when the limit changes to `limit`; none: nothing to store.
[[nodiscard]] std::optional<Time> arrival_under(const std::optional<RateLimit>& limit,
                                                const std::optional<Time>& arrival, Time now);

}  // namespace hapax::model
