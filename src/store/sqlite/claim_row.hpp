// A live execution as the claim that returns it.
#pragma once

#include "store/sqlite/execution_row.hpp"
#include "store/sqlite/queue_table.hpp"

#include <span>

namespace hapax::store::sqlite {

// Reads a row of claim_columns as the claim that it is after start(): attempt and fence are already raised.
[[nodiscard]] model::Claim read_claim(const Cursor& cursor, const QueueRow& queue, Time now);

// The bytes of all inputs. A reply ends after the claim that brings its inputs to limits::claim_bytes.
[[nodiscard]] std::size_t input_bytes(std::span<const model::Claim> claims);

// Whether the request asks for that task: one it names or, if it names none, any task that is not a workflow.
[[nodiscard]] bool wants(const model::ClaimRequest& request, std::string_view task, model::Kind kind);

}  // namespace hapax::store::sqlite
