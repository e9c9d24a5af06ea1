// Who holds an identity now.
#pragma once

#include "model/holder.hpp"
#include "store/postgres/connection.hpp"

#include <map>
#include <optional>
#include <vector>

namespace hapax::store::postgres {

// An identity's row, and the execution that holds it by that row, if one does.
struct Held {
  Uuid execution;
  std::optional<model::Holder> holder;
};

using HeldIdentities = std::map<base::Digest, Held>;

struct HolderQuestion {
  base::Digest identity;
  Uuid asking;                       // a row that points to this one is the asker's own
  bool terminates = false;           // would end or replace a live holder
  bool reuses = false;               // would follow a completed holder
  std::optional<Duration> throttle;  // answered by any holder made within it, and by no other
};

// One read of all that are held by others. Fails with a division by zero if any holder would have to make way, or is
// none (expired, a stub, a tombstone), so that in a pipeline all that came before is undone: the caller then goes step
// by step.
[[nodiscard]] Call ask_holders(const std::vector<HolderQuestion>& questions, std::int64_t offset_us);
[[nodiscard]] HeldIdentities read_holders(const Result& result);

struct LockedHolders {
  Time now{};
  HeldIdentities held;
  std::map<Uuid, model::LiveHolder> live;  // holders and those that ask
};

// All there is to know under locks that keep everything as it is until the transaction ends: identities by hash, then
// live rows by id, then history. Three round trips. `asking` are ids that may be there from an earlier try.
[[nodiscard]] LockedHolders lock_holders(Connection& connection, const std::vector<base::Digest>& identities,
                                         const std::vector<Uuid>& asking, std::int64_t offset_us);

// Who holds an identity, without locks: 1 round trip.
[[nodiscard]] std::optional<model::Holding> find_holding(Connection& connection, const base::Digest& identity,
                                                         std::int64_t offset_us);

}  // namespace hapax::store::postgres
