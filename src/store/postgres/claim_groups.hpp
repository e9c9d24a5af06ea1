// A claim over queues of which some have limits: each queue with limits is claimed on its own, neighbouring queues
// without limits together, in the request's order.
#pragma once

#include "store/postgres/limited_claim.hpp"

namespace hapax::store::postgres {

// Round trips: 1 for each group of neighbouring queues without limits, and those of claim_limited() for each queue with
// limits. When a session that may run a suspect claims from several groups, 1 more comes first, to find suspects
// (executions that were lost before) in any queue, as they go first. Each part is a transaction of its own: what the
// earlier parts claimed stays the session's also when a later one fails.
[[nodiscard]] model::ClaimReply claim_in_groups(const ClaimWork& work, const model::ClaimRequest& request);

}  // namespace hapax::store::postgres
