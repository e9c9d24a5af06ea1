// How a sweep finds expired executions without an index over all of history: see the table `expiries`.
//
// An id (UUIDv7) contains the time at which it was made, and history is ordered by id. So a pair of hours, when ids
// were made and when their executions expire, names a stretch of history to walk. Each transaction that ends executions
// notes the pairs that it touched.
#pragma once

#include "base/uuid7.hpp"
#include "store/sqlite/connection.hpp"

#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace hapax::store::sqlite {

inline constexpr std::int64_t hour_us = 3'600'000'000;
inline constexpr std::int64_t hour_ms = 3'600'000;

[[nodiscard]] inline std::int64_t expiry_hour(Time expires_at) {
  const std::int64_t us = expires_at.time_since_epoch().count();
  return us / hour_us - (us % hour_us < 0 ? 1 : 0);
}

[[nodiscard]] inline std::int64_t id_hour(const Uuid& id) {
  return static_cast<std::int64_t>(base::uuid7_milliseconds(id)) / hour_ms;
}

// The greatest id that can have been made before that hour.
[[nodiscard]] inline Uuid last_id_before_hour(std::int64_t hour) {
  Uuid id;
  if (hour <= 0) { return id; }
  const auto ms = static_cast<std::uint64_t>(hour) * static_cast<std::uint64_t>(hour_ms) - 1;
  id.bytes.fill(0xFF);
  for (std::size_t index = 0; index < 6; ++index) {
    id.bytes[index] = static_cast<std::uint8_t>(ms >> (40 - 8 * index));
  }
  return id;
}

// Where the last sweep stopped within a stretch, so that the next sweep continues there. Guarded by the store's sweep
// mutex.
struct RetentionCursor {
  std::int64_t expiry_hour = std::numeric_limits<std::int64_t>::min();
  std::int64_t id_hour = 0;
  Uuid after;
  Time since{};  // when the walk over this stretch began
  bool active = false;
  bool left = false;  // a row of this stretch was set aside and stays
};

// The pairs of hours that one transaction touched.
class ExpiryNotes {
 public:
  void add(const Uuid& id, Time expires_at);
  // 1 INSERT for each pair.
  void write(Connection& db);

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs_;
};

}  // namespace hapax::store::sqlite
