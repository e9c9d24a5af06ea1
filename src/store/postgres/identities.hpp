// Which execution holds an identity now.
#pragma once

#include "model/holder.hpp"
#include "store/postgres/admit.hpp"
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
  Uuid asking;              // the requested execution's id: a row that points to it belongs to the request itself
  bool terminates = false;  // the request would end or replace a live holder
  bool reuses = false;      // the request would start a new run after a completed holder
  std::optional<Duration> throttle;  // a holder created within this period is the answer, no other is
};

// One read of all identities that other executions hold, in a pipeline after the insert. When a holder would have to be
// displaced or no longer holds (expired, a stub, a tombstone), the caller admits step by step: read_holders() returns
// nothing, and the statement has deleted the rows that the insert made of the ids `inserted`.
[[nodiscard]] Call ask_holders(const std::vector<HolderQuestion>& questions, const std::vector<Uuid>& inserted,
                               std::int64_t offset_us);
[[nodiscard]] std::optional<HeldIdentities> read_holders(const Result& result);

struct LockedHolders {
  Time now{};
  HeldIdentities held;
  std::map<Uuid, model::LiveHolder> live;  // holders, and requested ids that exist already
};

// Reads the holders under locks that keep them unchanged until the transaction ends: identities by hash, then live rows
// by id, then history. Three round trips. `asking` are requested ids, which an earlier try may have admitted.
[[nodiscard]] LockedHolders lock_holders(Connection& connection, const std::vector<base::Digest>& identities,
                                         const std::vector<Uuid>& asking, std::int64_t offset_us);

// The holder of an identity, without locks: 1 round trip.
[[nodiscard]] std::optional<model::Holding> find_holding(Connection& connection, const base::Digest& identity,
                                                         std::int64_t offset_us);

// NameOwners: the identities that have the names a batch asks for (IdentityClaim::name, decision 58).
//
// Read once, in the transaction that admits the batch. If another transaction takes one of the names meanwhile, the
// insert fails with a unique violation and the batch is admitted again. One thread.
class NameOwners {
 public:
  // 1 round trip if an item has a name, else none.
  NameOwners(Connection& connection, const Items& items);

  // Whether another identity has the item's name.
  [[nodiscard]] bool is_taken(const model::NewExecution& item) const;
  // Whether the item's identity has its name. True if the item asks for none.
  [[nodiscard]] bool holds(const model::NewExecution& item) const;
  // Records that the item was inserted.
  void took(const model::NewExecution& item);

 private:
  std::map<base::Digest, base::Digest> identities_;  // by name
};

}  // namespace hapax::store::postgres
