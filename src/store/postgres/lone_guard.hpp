// A guarded call that comes alone: its begin and its end, each one statement of plain values. Arrays, and what only other
// executions need, would cost the server more than the rows do.
#pragma once

#include "store/postgres/admission.hpp"
#include "store/postgres/endings.hpp"

namespace hapax::store::postgres {

// One guard whose identity is new: one statement, one round trip, its own transaction. Nothing is returned, and nothing was
// changed, when somebody holds the identity, the queue drains, or the session is gone.
[[nodiscard]] std::optional<model::Admission> admit_lone_guard(const AdmissionWork& work,
                                                               const model::NewExecution& item, Duration patience);

// Is it one that end_guard_call can end?
[[nodiscard]] bool is_plain_guard_end(const model::Finish& finish);

// Returns the columns of end_call. If somebody waits for it, the statement fails with a division by zero.
[[nodiscard]] Call end_guard_call(const model::Finish& finish, std::int64_t offset_us);

}  // namespace hapax::store::postgres
