// A claim over queues of which some have limits: those each on their own, the others between them together, in the
// request's order.
#pragma once

#include "store/postgres/limited_claim.hpp"

namespace hapax::store::postgres {

// 1 round trip for each run of queues without limits, what claim_limited() says for each with them, and 1 before, unless
// all is one run, to find executions that were lost before: those go first, wherever they are. Each is a transaction of
// its own; what the earlier ones claimed is the session's also when a later one fails.
[[nodiscard]] model::ClaimReply claim_in_groups(const ClaimWork& work, const model::ClaimRequest& request);

}  // namespace hapax::store::postgres
