// The most bytes an input or a result may have (SPEC R5).
//
// One for the process, as it bounds what the process holds in memory and is asked by those who have no App: the command
// line, a guard on Redis (docs/decisions/0036). Whoever opens a store or reads a configuration sets it, before there is
// traffic; all others ask.
#pragma once

#include <cstddef>

namespace hapax::base {

[[nodiscard]] std::size_t payload_limit();  // any thread
// Of what becomes a part of an input, as it came and perhaps once more by a template, with other things around it: an
// event, the result of the run before. `usual` when the payload limit has room for it.
[[nodiscard]] std::size_t part_limit(std::size_t usual);
// Throws InvalidArgument unless within limits::payload_least and limits::payload_most.
void set_payload_limit(std::size_t bytes);

}  // namespace hapax::base
