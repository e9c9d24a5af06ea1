// Admission on one connection: who is new, who meets a holder, and what each is answered.
#pragma once

#include "model/catalogue_version.hpp"
#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/parking.hpp"
#include "store/postgres/queue_ids.hpp"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace hapax::store::postgres {

struct AdmissionWork {
  Connection& connection;
  const QueueIds& queues;  // all queues of the items are known, and marked if they get limit keys
  std::int64_t offset_us = 0;
  FreedKeys& freed;  // gets the limit keys of holders that made way
};

using Items = std::vector<const model::NewExecution*>;

// By which versions of their catalogues they were made. All that admit here throw CatalogueChanged, having changed nothing,
// when one of the catalogues is newer.
[[nodiscard]] model::CatalogueVersions made_by(const Items& items);

// Whether one of them has a name (IdentityClaim::name).
[[nodiscard]] bool has_names(const Items& items);

// Items without identity, at most a few hundred: one statement, one round trip, its own transaction.
[[nodiscard]] std::vector<model::Admission> admit_plain(const AdmissionWork& work, const Items& items);

// Many items without identity, limit key or weight: COPY in one transaction, two round trips.
[[nodiscard]] std::vector<model::Admission> admit_by_copy(const AdmissionWork& work, const Items& items);

// Items with identities whose holders, if any, just answer: one pipeline, one round trip, one transaction. Nothing is
// returned, and nothing was changed, when only the steps of admit_in_transaction can tell, as a holder must make way for a
// new run. Waits at most `patience` for other transactions' locks (SqlError, lock timeout).
[[nodiscard]] std::optional<std::vector<model::Admission>> admit_simple_identities(const AdmissionWork& work,
                                                                                   const Items& items,
                                                                                   Duration patience);

// Everything, step by step in the transaction that is open on the connection.
[[nodiscard]] std::vector<model::Admission> admit_in_transaction(const AdmissionWork& work, const Items& items);

// Items with identities, all of them new: one statement, one round trip, its own transaction. Nothing is returned, and
// nothing was changed, when they have too little in common (fresh_rows.hpp), or, with `met` set, one is not new.
[[nodiscard]] std::optional<std::vector<model::Admission>> admit_fresh(const AdmissionWork& work, const Items& items,
                                                                       Duration patience, bool& met);

// The same for many, without limit key or weight and none to be born running: two COPYs in one transaction, three round
// trips. They need not have anything in common.
[[nodiscard]] std::optional<std::vector<model::Admission>> admit_fresh_by_copy(const AdmissionWork& work,
                                                                               const Items& items, Duration patience,
                                                                               bool& met);

// Sets lock_timeout for the open transaction.
[[nodiscard]] Call lock_patience(Duration patience);
[[nodiscard]] std::string lock_timeout_text(Duration patience);

// What the store has under these ids: the answer to an admission whose own answer was lost. An id that is not there is
// missing from the map.
[[nodiscard]] std::unordered_map<Uuid, model::Admission> read_back_admissions(Connection& connection,
                                                                              const Items& items);

}  // namespace hapax::store::postgres
