// UUIDv7 (RFC 9562): 48 bits of milliseconds, then a counter and random bits.
#pragma once

#include <hapax/uuid.hpp>

#include <cstdint>

namespace hapax::base {

// A new id: strictly greater than every id this process made before, also when the clock steps back or many threads
// ask at once; a forked child never repeats its parent's. Any thread.
[[nodiscard]] Uuid new_uuid7();

// The pure rule behind it. `state` carries the last id's time and counter; returns the next id for `now_ms` and fresh
// random bits, never smaller than or equal to the one before.
struct Uuid7State {
  std::uint64_t last_ms = 0;
  std::uint32_t counter = 0;  // 18 bits used
};
[[nodiscard]] Uuid next_uuid7(Uuid7State& state, std::uint64_t now_ms, std::uint64_t random);

// The instant inside an id.
[[nodiscard]] std::uint64_t uuid7_milliseconds(const Uuid& id);

}  // namespace hapax::base
