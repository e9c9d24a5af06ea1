// Executions that are all new: identities that nobody has had, in one statement.
//
// Most batches with identities are of one queue, task and kind, and all that is asked for is new: starts of workflows, keyed
// enqueues, runs of activities. Then what they share is sent once, nothing has to be asked about holders, and the statement
// is a third of what the general way costs. It takes all or none: it fails with a division by zero when one of the identities
// is in the table already, or the queue drains.
#pragma once

#include "store/postgres/admission.hpp"
#include "store/postgres/statement.hpp"

#include <optional>
#include <vector>

namespace hapax::store::postgres {

// Places in the order of their identities; nothing if two have the same, or the same name. All have one.
[[nodiscard]] std::optional<std::vector<std::size_t>> by_identity(const Items& items);

// None when these do not share enough, or two of them have one identity.
[[nodiscard]] std::optional<Call> insert_fresh_call(const Items& items, const AdmissionWork& work, Duration patience);
[[nodiscard]] std::vector<model::Admission> read_fresh(const Result& result, const Items& items);

}  // namespace hapax::store::postgres
