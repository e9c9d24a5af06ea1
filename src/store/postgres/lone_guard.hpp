// A single guarded call: its begin and its end, each one statement of plain values. Arrays, and columns that only other
// executions need, would cost the server more than the rows.
#pragma once

#include "store/postgres/admission.hpp"
#include "store/postgres/endings.hpp"

namespace hapax::store::postgres {

// One guard whose identity is new: one statement, one round trip, its own transaction. Returns nothing and changes
// nothing when the identity is held, the queue drains, or the session is gone.
[[nodiscard]] std::optional<model::Admission> admit_lone_guard(const AdmissionWork& work,
                                                               const model::NewExecution& item, Duration patience);

// Whether end_guard_call() can end it.
[[nodiscard]] bool is_plain_guard_end(const model::Finish& finish);

// Returns the columns of end_call(). Fails with a division by zero if the execution has waiters.
[[nodiscard]] Call end_guard_call(const model::Finish& finish, std::int64_t offset_us);

}  // namespace hapax::store::postgres
