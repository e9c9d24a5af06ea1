// The parts of an admission that admit.cpp, admit_many.cpp and admit_identity.cpp share.
#pragma once

#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

// The queue in which the last check found nothing due. The finding stays valid until an execution is admitted as
// pending.
struct IdleQueue {
  std::int64_t queue_id = 0;
};

// Whether the execution may be born running: no limit, pause, delay or earlier due execution prevents it.
[[nodiscard]] bool may_be_born_running(WriteTransaction& tx, const BornRunning& born, const QueueRow& queue,
                                       Time run_at, const IdleQueue& idle);
// A guard may run only under an existing session of its caller whose lease is not over.
[[nodiscard]] bool may_run(WriteTransaction& tx, const NewExecution& item);

[[nodiscard]] Admission created(const Uuid& id, Status status, int run, Time created_at);
// The answer when the id is live already: the request is a duplicate of an earlier one.
[[nodiscard]] std::optional<Admission> already_live(WriteTransaction& tx, const Uuid& id);

// Makes the execution of an item whose identity, if it has one, is taken. `waited`: as in admit() of verbs.hpp.
[[nodiscard]] Admission insert_execution(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue, int run,
                                         bool* waited, IdleQueue& idle);
// Inserts the item's identity; false if the table has it. Most identities are new, and then this INSERT is the only
// check. 1 INSERT.
[[nodiscard]] bool take_identity(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue);

// The values of a new row that the request does not have: its place in the claim order and, when it is born running,
// the claim. These values are the LiveRow members that execution_row.hpp marks as inserted.
[[nodiscard]] LiveRow placed_row(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue,
                                 const NewRow& fresh);

// admit_identity.cpp: admits an item whose identity is in the table already: an execution holds it, or held it.
[[nodiscard]] Admission admit_held_identity(WriteTransaction& tx, const NewExecution& item, bool* waited);

// admit_many.cpp: admits a batch in which every item has an identity, many rows to a statement. Nothing, and nothing
// done, when the batch is too small or not of that kind.
[[nodiscard]] std::optional<std::vector<Admission>> admit_many(WriteTransaction& tx,
                                                               std::span<const NewExecution> items);

}  // namespace hapax::store::sqlite
