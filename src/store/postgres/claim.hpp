// Claiming from queues without limits on one connection: two statements of a pipeline and what their results mean.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/queue_ids.hpp"

#include <string>
#include <vector>

namespace hapax::store::postgres {

// Makes due delayed executions ready. When nothing is due it costs one probe of an index per queue.
[[nodiscard]] Call promote_call(const model::ClaimRequest& request, std::int64_t offset_us);
[[nodiscard]] Call claim_call(const model::ClaimRequest& request, std::int64_t offset_us);

struct GroupReply {
  model::ClaimReply reply;
  std::vector<model::QueueRef> limited;  // passed over: they have limits
};
[[nodiscard]] GroupReply read_claims(const Result& result, const model::ClaimRequest& request, Connection& connection,
                                     QueueIds& queues);
// The columns of a claimed row of `live l` in place of {claimed}. read_claims() reads them behind (now, suspects due, next
// due, numbers of limited queues).
[[nodiscard]] std::string with_claimed_columns(std::string text);

// The rows a session has under a claim number: the answer to a claim whose own answer was lost.
[[nodiscard]] model::ClaimReply read_back_claims(Connection& connection, const model::ClaimRequest& request,
                                                 QueueIds& queues, std::int64_t offset_us);

}  // namespace hapax::store::postgres
