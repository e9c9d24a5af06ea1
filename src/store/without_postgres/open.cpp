// Replaces src/store/postgres in a build with HAPAX_WITH_POSTGRES=OFF: every call throws Unsupported.
#include "store/open.hpp"

#include <hapax/error.hpp>

namespace hapax::store {

namespace {
[[noreturn]] void refuse() {
  throw Unsupported(
      "this hapax was built without PostgreSQL; expected a store URL of sqlite: or memory:, or a build with "
      "-DHAPAX_WITH_POSTGRES=ON");
}
}  // namespace

std::unique_ptr<Store> open_postgres(const std::string& /*url*/, const OpenOptions& /*options*/) { refuse(); }
MigrationReport migrate_postgres(const std::string& /*url*/, int /*to_version*/) { refuse(); }
SchemaStatus schema_status_postgres(const std::string& /*url*/) { refuse(); }

}  // namespace hapax::store
