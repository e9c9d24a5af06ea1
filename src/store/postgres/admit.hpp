// Admission on one connection: which requests create an execution, which meet a holder, and what each is answered.
#pragma once

#include "model/catalogue_version.hpp"
#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/park.hpp"
#include "store/postgres/queue_table.hpp"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace hapax::store::postgres {

struct AdmissionWork {
  Connection& connection;
  const QueueIds& queues;  // knows all queues of the items; those that get limit keys are marked
  std::int64_t offset_us = 0;
  FreedKeys& freed;  // gets the limit keys of holders that were ended
};

using Items = std::vector<const model::NewExecution*>;

// The versions of the catalogues that the requests were made by. Every admission function here throws CatalogueChanged,
// having changed nothing, when a catalogue is newer.
[[nodiscard]] model::CatalogueVersions made_by(const Items& items);

// Whether any item has a name (IdentityClaim::name).
[[nodiscard]] bool has_names(const Items& items);

// Items without identity, at most a few hundred: one statement, one round trip, its own transaction.
[[nodiscard]] std::vector<model::Admission> admit_plain(const AdmissionWork& work, const Items& items);

// Many items without identity, limit key or weight: COPY in one transaction, two round trips.
[[nodiscard]] std::vector<model::Admission> admit_by_copy(const AdmissionWork& work, const Items& items);

// Items with identities whose holders, if any, need only be answered: one pipeline, one round trip, one transaction.
// Returns nothing and changes nothing when a holder must be displaced, which only admit_in_transaction can do. Waits at
// most `patience` for other transactions' locks (SqlError, lock timeout).
[[nodiscard]] std::optional<std::vector<model::Admission>> admit_simple_identities(const AdmissionWork& work,
                                                                                   const Items& items,
                                                                                   Duration patience);

// Any items, step by step in the transaction that is open on the connection.
[[nodiscard]] std::vector<model::Admission> admit_in_transaction(const AdmissionWork& work, const Items& items);

// Why an insert of new identities admitted nothing: the items have too little in common for the statement, one of them
// exists already, or their queue drains.
enum class Obstacle : std::uint8_t { unlike, held, draining };

// Items with identities that are all new: one statement, one round trip, its own transaction. Returns nothing and
// changes nothing when there is an obstacle.
[[nodiscard]] std::optional<std::vector<model::Admission>> insert_new_identities(const AdmissionWork& work,
                                                                                 const Items& items, Duration patience,
                                                                                 Obstacle& obstacle);

// insert_new_identities() for many items without limit keys, weights or `born_running`: two COPYs in one transaction, three round
// trips. The items need not have anything in common.
[[nodiscard]] std::optional<std::vector<model::Admission>> copy_new_identities(const AdmissionWork& work,
                                                                               const Items& items, Duration patience,
                                                                               Obstacle& obstacle);

// One guard whose identity is new: one statement, one round trip, its own transaction. Returns nothing and changes
// nothing when the identity is held, the queue drains, or the session is gone.
[[nodiscard]] std::optional<model::Admission> admit_lone_guard(const AdmissionWork& work,
                                                               const model::NewExecution& item, Duration patience);

// The items' places sorted by identity, or nothing if two items have the same identity or the same name. Every item
// must have an identity.
[[nodiscard]] std::optional<std::vector<std::size_t>> by_identity(const Items& items);

// Sets lock_timeout for the open transaction.
[[nodiscard]] Call lock_patience(Duration patience);
[[nodiscard]] std::string lock_timeout_text(Duration patience);

// The executions that the store has under these ids: the answer to an admission whose own answer was lost. The map
// lacks ids that are not stored.
[[nodiscard]] std::unordered_map<Uuid, model::Admission> read_back_admissions(Connection& connection,
                                                                              const Items& items);

}  // namespace hapax::store::postgres
