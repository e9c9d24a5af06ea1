// live.line: in which line a live execution stands, as one number, the first column of the index `live_line`.
//
// One index over (line, run_at, id) serves what would otherwise be five partial ones: the claim order of ready
// executions, those that were lost before, delayed ones by when they come due, parked ones, which no claim may meet, and
// running ones by their session. Each change of a row opens and compares every index of the table: one index took 9 %
// off a claim and 12 % off an outcome.
#pragma once

#include <hapax/uuid.hpp>

#include <cstdint>
#include <limits>

namespace hapax::store::sqlite {

// Persisted: never change how lines are numbered.
namespace line {

inline constexpr std::int64_t priorities = 65536;
inline constexpr std::int64_t lines_of_queue = 4 * priorities;

// A stretch of lines, both ends included.
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
// Negative, so that all running executions are one range; sessions that share a number are told apart by the row.
[[nodiscard]] inline std::int64_t running(const Uuid& session) {
  std::uint64_t bits = 0;
  for (std::size_t index = 8; index < 16; ++index) { bits = bits << 8 | session.bytes[index]; }
  return static_cast<std::int64_t>(bits | (std::uint64_t{1} << 63));
}

// Within a range of one line a priority: higher priorities first.
[[nodiscard]] constexpr std::int64_t within(Range range, int priority) {
  return range.first + std::numeric_limits<std::int16_t>::max() - priority;
}
// Of a pending execution that is due.
[[nodiscard]] constexpr std::int64_t due(std::int64_t queue_id, int priority, int lost) {
  return within(lost > 0 ? suspect(queue_id) : ready(queue_id), priority);
}

}  // namespace line

}  // namespace hapax::store::sqlite
