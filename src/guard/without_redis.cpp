// Replaces src/guard/redis_store.cpp and the other Redis sources in a build with HAPAX_WITH_REDIS=OFF.
#include <hapax/error.hpp>
#include <hapax/guard_store.hpp>

#include "guard/redis_url.hpp"

namespace hapax {

GuardStorePtr redis_guard_store(const std::string& url) {
  (void)guard::parse_redis_url(url);  // a malformed URL gives the same error in every build
  throw Unsupported(
      "this hapax was built without Redis; expected a record store of memory:, file:, sqlite: or postgresql:, or a "
      "build with -DHAPAX_WITH_REDIS=ON");
}

}  // namespace hapax
