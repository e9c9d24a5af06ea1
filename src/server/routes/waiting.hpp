// Waiting for an execution's outcome inside a call, without a thread.
#pragma once

#include "engine/engine.hpp"
#include "server/call.hpp"

#include <optional>

namespace hapax::server {

// No long poll is longer: proxies close what is silent for longer.
inline constexpr Duration longest_poll = std::chrono::minutes(5);
// `wait` itself; throws InvalidArgument, naming the limit, for more than longest_poll: a client that is answered sooner than
// it asked would take that for the end of its time.
[[nodiscard]] Duration checked_wait(Duration wait, std::string_view field);

// The terminal outcome, of the run that a workflow was continued as; none when the time was over first, the client went
// away or the server stops. Throws ResultExpired when its record is gone, and what the store throws.
[[nodiscard]] std::optional<model::Outcome> wait_for_outcome(Call& call, engine::Engine& engine, const Uuid& id,
                                                             Duration at_most);

}  // namespace hapax::server
