// Which execution holds an identity now.
#pragma once

#include "model/holder.hpp"
#include "store/postgres/connection.hpp"

#include <map>
#include <optional>
#include <vector>

namespace hapax::store::postgres {

// An identity's row, and the execution that holds the identity by that row, if one does.
struct Held {
  Uuid execution;
  std::optional<model::Holder> holder;
};

using HeldIdentities = std::map<base::Digest, Held>;

struct HolderQuestion {
  base::Digest identity;
  Uuid asking;                       // the requested execution's id: a row that points to it is the request's own
  bool terminates = false;           // the request would end or replace a live holder
  bool reuses = false;               // the request would start a new run after a completed holder
  std::optional<Duration> throttle;  // answered by any holder created within this period, and by no other
};

// One read of all identities that other executions hold. Fails with a division by zero if a holder would have to be
// displaced or no longer holds (expired, a stub, a tombstone). In a pipeline that undoes all calls before, and the
// caller then admits step by step.
[[nodiscard]] Call ask_holders(const std::vector<HolderQuestion>& questions, std::int64_t offset_us);
[[nodiscard]] HeldIdentities read_holders(const Result& result);

struct LockedHolders {
  Time now{};
  HeldIdentities held;
  std::map<Uuid, model::LiveHolder> live;  // holders, and requested ids that exist already
};

// Everything about the holders, under locks that keep it so until the transaction ends: identities by hash, then live
// rows by id, then history. Three round trips. `asking` are requested ids, which an earlier try may have admitted.
[[nodiscard]] LockedHolders lock_holders(Connection& connection, const std::vector<base::Digest>& identities,
                                         const std::vector<Uuid>& asking, std::int64_t offset_us);

// The holder of an identity, without locks: 1 round trip.
[[nodiscard]] std::optional<model::Holding> find_holding(Connection& connection, const base::Digest& identity,
                                                         std::int64_t offset_us);

}  // namespace hapax::store::postgres
