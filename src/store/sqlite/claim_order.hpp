// live.line: the line in which a live execution waits or runs, as one number; the first column of the index
// `live_line`.
//
// One index over (line, run_at, id) does the work of five partial ones: ready executions in claim order, executions
// that were lost before, delayed ones by due time, parked ones (which no claim may read), and running ones by session.
// Each change of a row opens and compares every index of the table: one index instead of five took 9 % off a claim and
// 12 % off an outcome (decision 10).
#pragma once

#include <hapax/uuid.hpp>

#include <cstdint>
#include <limits>

namespace hapax::store::sqlite {

// Persisted: the numbering of lines must never change.
namespace claim_order {

inline constexpr std::int64_t priorities = 65536;
inline constexpr std::int64_t lines_of_queue = 4 * priorities;

// A range of lines, both ends included.
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

[[nodiscard]] constexpr Range ready(std::int64_t queue_id) {
  return {queue_id * lines_of_queue, queue_id * lines_of_queue + priorities - 1};
}
[[nodiscard]] constexpr Range suspect(std::int64_t queue_id) {
  return {queue_id * lines_of_queue + priorities, queue_id * lines_of_queue + 2 * priorities - 1};
}
[[nodiscard]] constexpr std::int64_t delayed(std::int64_t queue_id) {
  return queue_id * lines_of_queue + 2 * priorities;
}
[[nodiscard]] constexpr Range parked(std::int64_t queue_id) {
  return {queue_id * lines_of_queue + 3 * priorities, queue_id * lines_of_queue + 4 * priorities - 1};
}
// Negative, so that all running executions are one range. Sessions may share a number; the row's session tells them
// apart.
[[nodiscard]] inline std::int64_t running(const Uuid& session) {
  std::uint64_t bits = 0;
  for (std::size_t index = 8; index < 16; ++index) { bits = bits << 8 | session.bytes[index]; }
  return static_cast<std::int64_t>(bits | (std::uint64_t{1} << 63));
}

// The line of a priority within a range that has one line per priority; higher priorities come first.
[[nodiscard]] constexpr std::int64_t within(Range range, int priority) {
  return range.first + std::numeric_limits<std::int16_t>::max() - priority;
}
// The line of a pending execution that is due.
[[nodiscard]] constexpr std::int64_t due(std::int64_t queue_id, int priority, int lost) {
  return within(lost > 0 ? suspect(queue_id) : ready(queue_id), priority);
}

}  // namespace claim_order

}  // namespace hapax::store::sqlite
