#include "base/uuid7.hpp"

#include "base/random.hpp"

#include <atomic>
#include <chrono>

namespace hapax::base {

namespace {

constexpr unsigned counter_bits = 18;
constexpr std::uint32_t counter_limit = std::uint32_t{1} << counter_bits;
constexpr unsigned tail_bits = 56;

// The first counter of a millisecond has eight random bits and a clear top bit: at least 131,072 further IDs fit before
// the counter is full.
std::uint32_t first_counter(std::uint64_t random) {
  return static_cast<std::uint32_t>(random >> tail_bits) << (counter_bits - 9);
}

// Time and counter of the newest ID as one number, so that any thread can advance it without a lock, which a fork could
// leave locked for ever. 46 bits of milliseconds last until the year 4199.
std::atomic<std::uint64_t> newest{0};

}  // namespace

Uuid next_uuid7(Uuid7State& state, std::uint64_t now_ms, std::uint64_t random) {
  if (now_ms > state.last_ms) {
    state.last_ms = now_ms;
    state.counter = first_counter(random);
  } else if (++state.counter >= counter_limit) {
    ++state.last_ms;
    state.counter = first_counter(random);
  }
  const std::uint64_t high = (state.last_ms << 16) | 0x7000 | (state.counter >> 6);
  const std::uint64_t low = (std::uint64_t{2} << 62) | (std::uint64_t{state.counter & 0x3F} << tail_bits) |
                            (random & ((std::uint64_t{1} << tail_bits) - 1));
  Uuid id;
  for (unsigned index = 0; index < 8; ++index) {
    id.bytes[index] = static_cast<std::uint8_t>(high >> (56 - 8 * index));
    id.bytes[8 + index] = static_cast<std::uint8_t>(low >> (56 - 8 * index));
  }
  return id;
}

Uuid new_uuid7() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  const std::uint64_t random = SystemRandom().next();
  std::uint64_t seen = newest.load(std::memory_order_relaxed);
  for (;;) {
    Uuid7State state{.last_ms = seen >> counter_bits, .counter = static_cast<std::uint32_t>(seen % counter_limit)};
    const Uuid id = next_uuid7(state, now_ms, random);
    if (newest.compare_exchange_weak(seen, (state.last_ms << counter_bits) | state.counter, std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
      return id;
    }
  }
}

std::uint64_t uuid7_milliseconds(const Uuid& id) {
  std::uint64_t milliseconds = 0;
  for (std::size_t index = 0; index < 6; ++index) { milliseconds = (milliseconds << 8) | id.bytes[index]; }
  return milliseconds;
}

}  // namespace hapax::base
