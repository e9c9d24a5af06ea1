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
inline std::atomic<std::size_t> payload_limit_bytes = limits::payload_usual;
}

// Any thread.
[[nodiscard]] inline std::size_t payload_limit() { return detail::payload_limit_bytes.load(std::memory_order_relaxed); }

// The limit for a value that becomes part of an input, as it came and perhaps once more through a template: an event,
// the result of the previous run. Returns `usual` if the payload limit has room for that.
[[nodiscard]] inline std::size_t part_limit(std::size_t usual) { return std::min(usual, payload_limit() / 4); }

// Throws InvalidArgument unless within limits::payload_least and limits::payload_most.
inline void set_payload_limit(std::size_t bytes) {
  if (bytes < limits::payload_least || bytes > limits::payload_most) {
    throw InvalidArgument("payload_limit", std::to_string(bytes) + " bytes is out of range; expected " +
                                               std::to_string(limits::payload_least) + " to " +
                                               std::to_string(limits::payload_most));
  }
  detail::payload_limit_bytes.store(bytes, std::memory_order_relaxed);
}

}  // namespace hapax::base
