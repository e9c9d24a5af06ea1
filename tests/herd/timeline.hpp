// Pure functions on times: how many starts in a period, how many intervals at once, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hapax::herd {

// The largest number of instants in any half-open period [t, t + length).
[[nodiscard]] std::size_t most_in_any(std::vector<std::int64_t> instants, std::int64_t length);

// Half-open: an interval that ends when another begins does not overlap it.
struct Interval {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::string what{};  // for messages
};

// The largest number of intervals that share an instant.
[[nodiscard]] int most_at_once(const std::vector<Interval>& intervals);

// Describes the two intervals with the longest overlap.
[[nodiscard]] std::string worst_overlap(std::vector<Interval> intervals);

// One execution of an ordered key: the times of its request and acknowledgement, by the caller's clock, and of its run,
// from its first claim to its end, by the store's clock.
struct Turn {
  std::int64_t asked = 0;
  std::int64_t acknowledged = 0;
  Interval ran;
};

// Number of executions that ran before one that had been acknowledged before they were requested.
[[nodiscard]] int out_of_order(std::vector<Turn> turns);

// Self-test: throws if one of these functions gives a wrong answer.
void check_the_timeline_checker();

}  // namespace hapax::herd
