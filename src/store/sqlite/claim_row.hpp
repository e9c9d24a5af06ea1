// What a claim reads of a live execution that it hands out.
#pragma once

#include "store/sqlite/queue_table.hpp"

#include <span>

namespace hapax::store::sqlite {

// The columns of `live` in the order read_claim wants them.
#define HAPAX_CLAIM_COLUMNS                                                                            \
  "id, attempt, fence, lost, priority, deadline, task, kind, created_at, max_attempts, max_lost, run," \
  " attempt_timeout, retry, identity, effect_key, parent, labels, input, inbox"

// As it will be once claimed.
[[nodiscard]] model::Claim read_claim(const Cursor& cursor, const QueueRow& queue, Time now);

// Of all of them: a reply ends behind the claim that brings it to limits::claim_bytes.
[[nodiscard]] std::size_t input_bytes(std::span<const model::Claim> claims);

// Whether the request is for that task: one it names or, if it names none, any that is not a workflow.
[[nodiscard]] bool wants(const model::ClaimRequest& request, std::string_view task, model::Kind kind);

}  // namespace hapax::store::sqlite
