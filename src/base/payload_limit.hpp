// The most bytes that an input or a result may have.
//
// There is one limit per process, because it bounds what the process holds in memory and applies also without an App:
// in the command line, in a guard on Redis (docs/decisions/0036). Opening a store or reading a configuration sets it,
// before the first request.
#pragma once

#include <cstddef>

namespace hapax::base {

[[nodiscard]] std::size_t payload_limit();  // any thread
// The limit for a value that becomes part of an input, as it came and perhaps once more through a template: an event,
// the result of the previous run. Returns `usual` if the payload limit has room for that.
[[nodiscard]] std::size_t part_limit(std::size_t usual);
// Throws InvalidArgument unless within limits::payload_least and limits::payload_most.
void set_payload_limit(std::size_t bytes);

}  // namespace hapax::base
