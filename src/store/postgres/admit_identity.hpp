// The steps of an admission in an open transaction, for requests that meet a holder.
#pragma once

#include "store/postgres/admit.hpp"

#include <vector>

namespace hapax::store::postgres {

// ---- Holders that a new run displaces -------------------------------------------------------------------------------

struct Displacement {
  std::size_t index = 0;                    // of the request in its batch
  const model::NewExecution* by = nullptr;  // the request
  int run = 1;
  std::optional<Uuid> terminated;
  std::optional<Uuid> overtaken;
};

// Ends the terminated holders with their children, and marks the overtaken ones. The open transaction has locked them.
void end_holders(const AdmissionWork& work, const std::vector<Displacement>& displacements);
// Repoints the identities, whose rows the open transaction has locked, to the new runs: 1 round trip.
void repoint_identities(const AdmissionWork& work, const std::vector<Displacement>& displacements);

// ---- Debounce and keep_last: a pending holder gets the latest request's fields -------------------------------------

struct Replacement {
  Uuid id;                                  // the holder, whose rows this transaction has locked
  const model::NewExecution* by = nullptr;  // its members, except id, identity and effect key, replace the holder's
};

// 1 round trip. The holders are pending and have never started.
void replace(const AdmissionWork& work, const std::vector<Replacement>& replacements);

// ---- Running guards whose caller is lost and that another caller takes over -----------------------------------------

struct Takeover {
  Uuid id;
  const model::NewExecution* by = nullptr;
  model::Admission* admission = nullptr;  // gets the fence
};

// The open transaction has locked the guards' rows and identities, and the new callers' sessions exist. 1 round trip.
void take_over(Connection& connection, const std::vector<Takeover>& guards, std::int64_t offset_us);

// ---- Seeds: the journal and events that a workflow starts with when it is admitted ----------------------------------

// Writes journal and inbox of executions that were just inserted in the open transaction: 1 round trip, none when no
// item has a seed.
void seed(Connection& connection, const std::vector<const model::NewExecution*>& fresh, std::int64_t offset_us);

}  // namespace hapax::store::postgres
