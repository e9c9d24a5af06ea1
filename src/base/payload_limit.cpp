#include "base/payload_limit.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"

#include <algorithm>
#include <atomic>
#include <string>

namespace hapax::base {
namespace {

std::atomic<std::size_t>& limit() {
  static std::atomic<std::size_t> bytes = limits::payload_usual;
  return bytes;
}

}  // namespace

std::size_t payload_limit() { return limit().load(std::memory_order_relaxed); }

std::size_t part_limit(std::size_t usual) { return std::min(usual, payload_limit() / 4); }

void set_payload_limit(std::size_t bytes) {
  if (bytes < limits::payload_least || bytes > limits::payload_most) {
    throw InvalidArgument("payload_limit", std::to_string(bytes) + " bytes is out of range; expected " +
                                               std::to_string(limits::payload_least) + " to " +
                                               std::to_string(limits::payload_most));
  }
  limit().store(bytes, std::memory_order_relaxed);
}

}  // namespace hapax::base
