// Claiming from queues without limits on one connection: two statements of a pipeline, and how to read their results.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/queue_ids.hpp"

#include <string>
#include <vector>

namespace hapax::store::postgres {

// Makes due delayed executions ready. Costs one index probe per queue when nothing is due.
[[nodiscard]] Call promote_call(const model::ClaimRequest& request, std::int64_t offset_us);
[[nodiscard]] Call claim_call(const model::ClaimRequest& request, std::int64_t offset_us);

struct GroupReply {
  model::ClaimReply reply;
  std::vector<model::QueueRef> limited;  // passed over because they have limits
};
[[nodiscard]] GroupReply read_claims(const Result& result, const model::ClaimRequest& request, Connection& connection,
                                     QueueIds& queues);
// Replaces {claimed} by the columns of a claimed row of `live l`. read_claims() reads these columns after (now,
// suspects due, next due, ids of limited queues).
[[nodiscard]] std::string with_claimed_columns(std::string text);

// The rows that a session holds under a claim number: the answer to a claim whose own answer was lost.
[[nodiscard]] model::ClaimReply read_back_claims(Connection& connection, const model::ClaimRequest& request,
                                                 QueueIds& queues, std::int64_t offset_us);

}  // namespace hapax::store::postgres
