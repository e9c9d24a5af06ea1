#include "store/postgres/name_owners.hpp"

namespace hapax::store::postgres {

namespace {

constexpr Statement name_owners{"hapax_name_owners", R"(
SELECT i.name, i.identity FROM {s}.identities i WHERE i.name = ANY ($1::bytea[]))"};

const std::optional<base::Digest>& name_of(const model::NewExecution& item) {
  static const std::optional<base::Digest> none;
  return item.identity ? item.identity->name : none;
}

}  // namespace

NameOwners::NameOwners(Connection& connection, const Items& items) {
  if (!has_names(items)) { return; }
  Array names(Type::bytea);
  for (const model::NewExecution* item : items) {
    if (name_of(*item)) { names.digest(*name_of(*item)); }
  }
  const Result owners = connection.query(name_owners, Params().array(std::move(names)));
  for (int row = 0; row < owners.rows(); ++row) {
    RowReader reader(owners, row);
    const base::Digest name = reader.digest();
    identities_.emplace(name, reader.digest());
  }
}

bool NameOwners::is_taken(const model::NewExecution& item) const {
  if (!name_of(item)) { return false; }
  const auto owner = identities_.find(*name_of(item));
  return owner != identities_.end() && owner->second != item.identity->hash;
}

bool NameOwners::holds(const model::NewExecution& item) const {
  if (!name_of(item)) { return true; }
  const auto owner = identities_.find(*name_of(item));
  return owner != identities_.end() && owner->second == item.identity->hash;
}

void NameOwners::took(const model::NewExecution& item) {
  if (name_of(item)) { identities_[*name_of(item)] = item.identity->hash; }
}

}  // namespace hapax::store::postgres
