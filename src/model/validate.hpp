// Checks of callers' input, before anything is written. Each throws a typed error that names the field.
#pragma once

#include "model/execution.hpp"

#include <string_view>

namespace hapax::model {

// Namespace, queue, task, tag or worker label: 1..limits::name_bytes bytes of UTF-8 without control characters.
void check_name(std::string_view name, std::string_view field);

// A caller's idempotency key: 1..limits::key_bytes bytes of UTF-8 without control characters. Throws
// InvalidIdempotencyKey.
void check_key(std::string_view key, std::string_view field = "task_id");

// Settings of a queue. Durations are from 0 to limits::delay_max, so that no instant computed from them is out of
// range.
void check_queue_patch(const QueuePatch& patch);

// All members of a request, its payload included.
void check_new_execution(const NewExecution& request);

// check_new_execution() for a request whose input was built from checked JSON: only the input's size is checked.
void check_composed_execution(const NewExecution& request);

}  // namespace hapax::model
