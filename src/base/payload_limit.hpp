// The most bytes that an input or a result may have.
//
// There is one limit per process, because it bounds what the process holds in memory and applies also without an App:
// in the command line, in a guard on Redis (docs/decisions/0036). Opening a store or reading a configuration sets it,
// before the first request.
#pragma once

#include <hapax/error.hpp>

#include "base/limits.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>

namespace hapax::base {

namespace detail {
inline std::atomic<std::size_t> payload_limit_bytes = limits::payload_default;
}

// Any thread.
[[nodiscard]] inline std::size_t payload_limit() { return detail::payload_limit_bytes.load(std::memory_order_relaxed); }

// The limit for an event or a previous run's result, which becomes part of an input, as it came and perhaps once more
// through a template: `usual`, or less if the payload limit is small.
[[nodiscard]] inline std::size_t part_limit(std::size_t usual) { return std::min(usual, payload_limit() / 4); }

// Throws InvalidArgument unless within limits::payload_min and limits::payload_max.
inline void set_payload_limit(std::size_t bytes) {
  if (bytes < limits::payload_min || bytes > limits::payload_max) {
    throw InvalidArgument("payload_limit", std::to_string(bytes) + " bytes is out of range; expected " +
                                               std::to_string(limits::payload_min) + " to " +
                                               std::to_string(limits::payload_max));
  }
  detail::payload_limit_bytes.store(bytes, std::memory_order_relaxed);
}

}  // namespace hapax::base
