// Executions with identities that are all new, in one statement.
//
// Most batches with identities share queue, task and kind and are entirely new: starts of workflows, keyed enqueues,
// runs of activities. Then the shared values are sent once, no question about holders is needed, and the statement
// costs a third of the general one. The statement admits all items or none: it fails with a division by zero when the
// queue drains, and with a unique violation when an identity is already in the table.
#pragma once

#include "store/postgres/admission.hpp"
#include "store/postgres/statement.hpp"

#include <optional>
#include <vector>

namespace hapax::store::postgres {

// The items' places sorted by identity, or nothing if two items have the same identity or the same name. Every item
// must have an identity.
[[nodiscard]] std::optional<std::vector<std::size_t>> by_identity(const Items& items);

// None when the items do not share enough, or when two have the same identity.
[[nodiscard]] std::optional<Call> insert_fresh_call(const Items& items, const AdmissionWork& work, Duration patience);
[[nodiscard]] std::vector<model::Admission> read_fresh(const Result& result, const Items& items);

}  // namespace hapax::store::postgres
