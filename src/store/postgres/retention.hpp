// The day partitions of history: created ahead, dropped when everything in them has expired.
#pragma once

#include "store/postgres/connection.hpp"

#include <cstdint>

namespace hapax::store::postgres {

// Creates the partitions that finishing executions will need in the next days, for every retention in use. Skips, until
// a later call, a day whose rows are already in the default partition and a lock that is not free within 50 ms.
void make_partitions(Connection& connection, std::int64_t offset_us);

struct Dropped {
  std::int64_t executions = 0;  // finished executions deleted
  bool more = false;            // a limit was reached
};

// Deletes at most `limit` expired rows of the default partition with their attempts, journal, events and identities,
// and at most `limit` tombstones. Then works on partitions that are wholly past, oldest first: deletes what depends on
// their executions, at most `limit` rows of each table and partition per call, and then drops the partition. An
// identity whose window is not over stays as a tombstone. A role that does not own a partition skips it.
Dropped drop_expired(Connection& connection, std::int64_t offset_us, int limit);

// How many partitions are wholly past and not dropped yet (30 at most).
int past_partitions(Connection& connection, std::int64_t offset_us);

}  // namespace hapax::store::postgres
