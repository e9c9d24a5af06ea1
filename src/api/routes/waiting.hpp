// Waiting for an execution's outcome inside a call, without a thread.
#pragma once

#include "engine/engine.hpp"
#include "http/call.hpp"

#include <optional>

namespace hapax::api {

// The longest long poll: proxies close connections that are silent for longer.
inline constexpr Duration longest_poll = std::chrono::minutes(5);
// Returns `wait`; throws InvalidArgument, naming the limit, when it exceeds longest_poll: with a shorter wait, the
// client would take the answer for the end of its own wait.
[[nodiscard]] Duration checked_wait(Duration wait, std::string_view field);

// The terminal outcome; for a workflow that was continued, that of its last run. None when the time runs out, the
// client leaves or the server stops. Throws ResultExpired when the record is gone, and what the store throws.
[[nodiscard]] std::optional<model::Outcome> wait_for_outcome(http::Call& call, engine::Engine& engine, const Uuid& id,
                                                             Duration at_most);

}  // namespace hapax::api
