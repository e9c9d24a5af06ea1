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

// The catalogue versions that the requests were made with. Every admission function here throws CatalogueChanged, and
// changes nothing, when a stored catalogue is newer.
[[nodiscard]] model::CatalogueVersions made_by(const Items& items);

// Whether any item has a name (IdentityClaim::name).
[[nodiscard]] bool has_names(const Items& items);

// Admits items without identity, at most a few hundred: one statement in a transaction of its own, one round trip.
[[nodiscard]] std::vector<model::Admission> admit_plain(const AdmissionWork& work, const Items& items);

// Admits many items without identity, limit key and weight by COPY: one transaction, two round trips.
[[nodiscard]] std::vector<model::Admission> admit_by_copy(const AdmissionWork& work, const Items& items);

// Admits items with identities that are free, or whose holder is the answer: one transaction, one round trip. Returns
// nothing and changes nothing when a holder must be displaced, which only admit_in_transaction can do. Waits at most
// `patience` for other transactions' locks (SqlError, lock timeout).
[[nodiscard]] std::optional<std::vector<model::Admission>> admit_simple_identities(const AdmissionWork& work,
                                                                                   const Items& items,
                                                                                   Duration patience);

// Admits any items, step by step, in the transaction that is open on the connection.
[[nodiscard]] std::vector<model::Admission> admit_in_transaction(const AdmissionWork& work, const Items& items);

// Why an insert of new identities admitted nothing: the items have too little in common for the statement, one of them
// exists already, or their queue drains.
enum class Obstacle : std::uint8_t { unlike, held, draining };

// Admits items whose identities are all new: one statement in a transaction of its own, one round trip. Returns nothing
// and changes nothing when there is an obstacle.
[[nodiscard]] std::optional<std::vector<model::Admission>> insert_new_identities(const AdmissionWork& work,
                                                                                 const Items& items, Duration patience,
                                                                                 Obstacle& obstacle);

// insert_new_identities() by COPY, for many items without limit keys, weights and `born_running`: two COPYs in one
// transaction, three round trips. The items need not have anything in common.
[[nodiscard]] std::optional<std::vector<model::Admission>> copy_new_identities(const AdmissionWork& work,
                                                                               const Items& items, Duration patience,
                                                                               Obstacle& obstacle);

// Admits one guard whose identity is new: one statement in a transaction of its own, one round trip. Returns nothing
// and changes nothing when the identity is held, the queue drains, or the session is gone.
[[nodiscard]] std::optional<model::Admission> admit_lone_guard(const AdmissionWork& work,
                                                               const model::NewExecution& item, Duration patience);

// The items' places sorted by identity, or nothing if two items have the same identity or the same name. Every item
// must have an identity.
[[nodiscard]] std::optional<std::vector<std::size_t>> by_identity(const Items& items);

// Sets lock_timeout for the open transaction.
[[nodiscard]] Call lock_patience(Duration patience);
[[nodiscard]] std::string lock_timeout_text(Duration patience);

// The admissions of those of the ids that are stored, to answer a request whose own answer was lost.
[[nodiscard]] std::unordered_map<Uuid, model::Admission> read_back_admissions(Connection& connection,
                                                                              const Items& items);

}  // namespace hapax::store::postgres
