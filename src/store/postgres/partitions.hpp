// The day partitions of history: made ahead, dropped when all in them has expired.
#pragma once

#include "store/postgres/connection.hpp"

#include <cstdint>

namespace hapax::store::postgres {

// Makes the partitions that finishing executions will need in the next days, for every retention in use. A day whose
// rows are already in the default partition, or whose lock is not to be had at once, is left for another time.
void make_partitions(Connection& connection, std::int64_t offset_us);

struct Dropped {
  std::int64_t executions = 0;  // finished executions deleted
  bool more = false;            // a limit was hit
};

// Deletes at most `limit` expired rows of the default partition with what hangs on them and as many tombstones, then works
// on the oldest partition that is wholly past: what hangs on its executions goes first, bounded, and then the partition.
// An identity whose window is not over stays, as a tombstone. A role that does not own a partition leaves it.
Dropped drop_expired(Connection& connection, std::int64_t offset_us, int limit);

// How many partitions are wholly past and still there (30 at most).
int past_partitions(Connection& connection, std::int64_t offset_us);

}  // namespace hapax::store::postgres
