// The identities that have the names a batch asks for (IdentityClaim::name, decision 58).
#pragma once

#include "store/postgres/admission.hpp"

#include <map>

namespace hapax::store::postgres {

// Read once, in the transaction that admits the batch. A name that another transaction takes meanwhile makes the insert
// fail with a unique violation, after which the batch is admitted again.
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
