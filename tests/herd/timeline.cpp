#include "herd/timeline.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hapax::herd {

std::size_t most_in_any(std::vector<std::int64_t> instants, std::int64_t length) {
  std::ranges::sort(instants);
  std::size_t most = 0;
  std::size_t first = 0;
  for (std::size_t last = 0; last < instants.size(); ++last) {
    while (instants[last] - instants[first] >= length) ++first;
    most = std::max(most, last - first + 1);
  }
  return most;
}

int most_at_once(const std::vector<Interval>& intervals) {
  std::vector<std::pair<std::int64_t, int>> edges;
  for (const auto& one : intervals) {
    if (one.to <= one.from) continue;
    edges.emplace_back(one.from, 1);
    edges.emplace_back(one.to, -1);
  }
  std::ranges::sort(edges);  // at equal times ends come first
  int now = 0;
  int most = 0;
  for (const auto& [at, step] : edges) {
    now += step;
    most = std::max(most, now);
  }
  return most;
}

std::string worst_overlap(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::from);
  std::int64_t most = 0;
  std::string words;
  for (std::size_t first = 0; first < intervals.size(); ++first) {
    for (std::size_t second = first + 1; second < intervals.size(); ++second) {
      if (intervals[second].from >= intervals[first].to) break;
      const auto common = std::min(intervals[first].to, intervals[second].to) - intervals[second].from;
      if (common <= most) continue;
      most = common;
      words = std::to_string(common) + " us of " + intervals[first].what + " and " + intervals[second].what;
    }
  }
  return words;
}

int out_of_order(std::vector<Turn> turns) {
  std::ranges::sort(turns, {}, [](const Turn& turn) { return turn.ran.from; });
  int wrong = 0;
  std::int64_t latest_asked = 0;
  for (const auto& turn : turns) {
    if (turn.acknowledged < latest_asked) ++wrong;
    latest_asked = std::max(latest_asked, turn.asked);
  }
  return wrong;
}

namespace {

void expect(bool fine, const char* what) {
  if (!fine) throw std::runtime_error(std::string("self-test: ") + what);
}

}  // namespace

void check_the_timeline_checker() {
  expect(most_in_any({}, 10) == 0, "starts where there are none");
  expect(most_in_any({0, 10, 20, 30}, 10) == 1, "a stretch has its end in it");
  expect(most_in_any({30, 9, 0, 17, 18}, 10) == 3, "a crowded stretch was not found");
  expect(most_at_once({{0, 10}, {10, 20}}) == 1, "one that ends meets one that begins");
  expect(most_at_once({{0, 10}, {9, 20}}) == 2, "two at once were not found");
  expect(most_at_once({{0, 100}, {10, 20}, {15, 30}, {20, 40}}) == 3, "three at once were not found");
  const Turn first{.asked = 1, .acknowledged = 2, .ran = {10, 20}};
  const Turn second{.asked = 3, .acknowledged = 4, .ran = {20, 30}};
  const Turn beside{.asked = 1, .acknowledged = 4, .ran = {5, 9}};
  const Turn overtaken{.asked = 1, .acknowledged = 2, .ran = {30, 40}};
  expect(out_of_order({second, first}) == 0, "what is in order was refused");
  expect(out_of_order({first, beside, second}) == 0, "concurrent ones may come in either order");
  expect(out_of_order({second, overtaken}) == 1, "one that was overtaken was not found");
}

}  // namespace hapax::herd
