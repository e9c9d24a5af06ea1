// UUIDv7 (RFC 9562): 48 bits of milliseconds, then a counter and random bits.
#pragma once

#include <hapax/uuid.hpp>

#include <cstdint>

namespace hapax::base {

// A new ID, strictly greater than every ID this process made before, also when the clock steps back or many threads
// call at once. A forked child never repeats its parent's IDs. Any thread.
[[nodiscard]] Uuid new_uuid7();

// The pure rule of new_uuid7(): the next ID for `now_ms` and fresh random bits, always greater than the ID before.
// `state` has the time and counter of that ID.
struct Uuid7State {
  std::uint64_t last_ms = 0;
  std::uint32_t counter = 0;  // 18 bits used
};
[[nodiscard]] Uuid next_uuid7(Uuid7State& state, std::uint64_t now_ms, std::uint64_t random);

// The time inside an ID, in milliseconds since 1970.
[[nodiscard]] std::uint64_t uuid7_milliseconds(const Uuid& id);

}  // namespace hapax::base
