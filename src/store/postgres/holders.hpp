// Who holds an identity now.
#pragma once

#include "model/admission.hpp"
#include "store/postgres/connection.hpp"

#include <map>
#include <optional>
#include <vector>

namespace hapax::store::postgres {

// An identity's row, and the execution it points to unless that has expired.
struct Held {
  Uuid execution;
  std::optional<model::Holder> holder;
};

using HeldIdentities = std::map<base::Digest, Held>;

struct HolderQuestion {
  base::Digest identity;
  Uuid asking;              // a row that points to this one is the asker's own
  bool terminates = false;  // would end a live holder
  bool reuses = false;      // would follow a completed holder
};

// One read of all that are held by others. Fails with a division by zero if any holder would have to make way, so that
// in a pipeline all that came before is undone: the caller then goes step by step.
[[nodiscard]] Call ask_holders(const std::vector<HolderQuestion>& questions, std::int64_t offset_us);
[[nodiscard]] HeldIdentities read_holders(const Result& result);

// The same under locks that keep everything as it is until the transaction ends: identities by hash, then live rows by
// id, then history. Three round trips.
[[nodiscard]] HeldIdentities lock_holders(Connection& connection, const std::vector<base::Digest>& identities,
                                          std::int64_t offset_us);

}  // namespace hapax::store::postgres
