#include "store/postgres/catalogue_versions.hpp"

#include "store/store.hpp"

namespace hapax::store::postgres {

std::string draining_text(int last) {
  const std::string namespaces = "$" + std::to_string(last + 1) + "::text[]";
  const std::string versions = "$" + std::to_string(last + 2) + "::int[]";
  return R"(draining AS MATERIALIZED (
  SELECT id FROM {s}.queues WHERE draining
  UNION ALL
  SELECT 0 FROM {s}.catalogue_versions v
  WHERE v.ns = ANY ()" +
         namespaces + ") AND v.version > (" + versions + ")[array_position(" + namespaces + ", v.ns)]),";
}

void add_catalogue_params(Params& params, const model::CatalogueVersions& made_by) {
  Array namespaces(Type::text, made_by.oldest().size());
  Array versions(Type::int4, made_by.oldest().size());
  for (const auto& [ns, version] : made_by.oldest()) {
    namespaces.bytes(ns);
    versions.int4(version);
  }
  params.array(std::move(namespaces)).array(std::move(versions));
}

void throw_catalogue_changed() {
  throw CatalogueChanged("the catalogue changed while the request was made; nothing was admitted");
}

}  // namespace hapax::store::postgres
