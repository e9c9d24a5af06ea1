// Changes of a queue's settings, the same in every store.
#pragma once

#include "model/execution.hpp"

#include <string>

namespace hapax::model {

void apply_patch(QueueSettings& settings, const QueuePatch& patch);

// Audit detail of a patch: one JSON object with the member names of [queues.X].
[[nodiscard]] std::string describe_patch(const QueuePatch& patch);
// Audit details of a purge and of a move.
[[nodiscard]] std::string describe_count(int count);
[[nodiscard]] std::string describe_move(const QueueRef& to, int count);

}  // namespace hapax::model
