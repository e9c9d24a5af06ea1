// Rate limits: the generic cell rate algorithm as pure functions (SPEC D12).
//
// A limit's whole state is one instant, the theoretical arrival time: when the bucket will be empty again. A start moves
// it on by an interval; it may lie ahead of now by a tolerance. The interval is a little longer than per / count (2 %, at
// most 5 s a period), and the tolerance is that much: so a claimer that comes a little late loses nothing, and yet no
// half-open stretch of `per` has more than count + burst starts.
#pragma once

#include "model/execution.hpp"

#include <optional>

namespace hapax::model {

class RateMeter {
 public:
  // `arrival` is what was stored; none: nothing has started yet.
  RateMeter(const RateLimit& limit, const std::optional<Time>& arrival, Time now);

  // Whether a start of that weight is allowed now; one heavier than the bucket starts when it is empty.
  [[nodiscard]] bool allows(int weight) const;
  // How long until it is; 0 when it is now.
  [[nodiscard]] Duration wait(int weight) const;
  // The heaviest start that is allowed now; 0: none.
  [[nodiscard]] int heaviest() const;
  void start(int weight);
  // To be stored.
  [[nodiscard]] Time arrival() const;

 private:
  double interval_us_;
  double tolerance_us_;
  double ahead_us_;  // how far the arrival time lies ahead of now
  Time now_;
};

// A limit that is changed takes effect at once: what was spent under the old one counts against the new one as a full
// bucket at most, so that the next may start now and those behind it at the new rate. How far ahead of now the arrival
// may lie then.
[[nodiscard]] Duration debt_carried_over(const RateLimit& limit);
// The stored arrival when the limit has become this one; none: nothing is to be remembered.
[[nodiscard]] std::optional<Time> arrival_under(const std::optional<RateLimit>& limit,
                                                const std::optional<Time>& arrival, Time now);

}  // namespace hapax::model
