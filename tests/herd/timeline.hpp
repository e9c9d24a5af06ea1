// Pure questions about instants: how many starts in a stretch, how many at once, and in whose order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hapax::herd {

// The most instants in any half-open stretch [t, t + length).
[[nodiscard]] std::size_t most_in_any(std::vector<std::int64_t> instants, std::int64_t length);

// Half-open: one that ends when another begins does not meet it.
struct Interval {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::string what{};  // for people
};

// The most intervals that have an instant in common.
[[nodiscard]] int most_at_once(const std::vector<Interval>& intervals);

// The two that have most in common, and how much.
[[nodiscard]] std::string worst_overlap(std::vector<Interval> intervals);

// One execution of an ordered key: when it was asked for and acknowledged, by the callers' clock, and when it ran, from
// its first claim to its end, by the store's.
struct Turn {
  std::int64_t asked = 0;
  std::int64_t acknowledged = 0;
  Interval ran;
};

// How many ran before one that had been acknowledged before they were asked for.
[[nodiscard]] int out_of_order(std::vector<Turn> turns);

// Throws when one of these is wrong about what it must find.
void check_the_timeline_checker();

}  // namespace hapax::herd
