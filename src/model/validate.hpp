// Checks of what callers hand in, before anything is written (SPEC P9, R5). Each throws a typed error naming the field.
#pragma once

#include "model/execution.hpp"

#include <string_view>

namespace hapax::model {

// Namespace, queue, task, tag or worker label: 1..limits::name_bytes bytes of UTF-8 without control characters.
void check_name(std::string_view name, std::string_view field);

// A caller's idempotency key (SPEC I7); throws InvalidIdempotencyKey.
void check_key(std::string_view key, std::string_view field = "task_id");

// Settings of a queue: durations from 0 to limits::delay_max, so that no instant made with them is out of range.
void check_queue_patch(const QueuePatch& patch);

// Everything about a request, its payload included.
void check_new_execution(const NewExecution& request);

// The same of a request whose input was put together of JSON that was checked before: only its size is left to check.
void check_composed_execution(const NewExecution& request);

}  // namespace hapax::model
