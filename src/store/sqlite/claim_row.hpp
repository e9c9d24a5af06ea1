// The columns that a claim reads of the live execution that it returns.
#pragma once

#include "store/sqlite/queue_table.hpp"

#include <span>

namespace hapax::store::sqlite {

// The columns of `live` in the order read_claim wants them.
#define HAPAX_CLAIM_COLUMNS                                                                            \
  "id, attempt, fence, lost, priority, deadline, task, kind, created_at, max_attempts, max_lost, run," \
  " attempt_timeout, retry, identity, effect_key, parent, labels, input, inbox"

// The claim as it is after start(): attempt and fence are already raised.
[[nodiscard]] model::Claim read_claim(const Cursor& cursor, const QueueRow& queue, Time now);

// The bytes of all inputs. A reply ends after the claim that brings its inputs to limits::claim_bytes.
[[nodiscard]] std::size_t input_bytes(std::span<const model::Claim> claims);

// Whether the request asks for that task: one it names or, if it names none, any task that is not a workflow.
[[nodiscard]] bool wants(const model::ClaimRequest& request, std::string_view task, model::Kind kind);

}  // namespace hapax::store::sqlite
