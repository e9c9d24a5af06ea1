#include "store/postgres/parking.hpp"
#include "store/postgres/postgres_store.hpp"

#include "base/limits.hpp"

#include <limits>

namespace hapax::store::postgres {

void PostgresStore::unpark(Connection& connection, const FreedKeys& freed) {
  if (freed.empty()) { return; }
  constexpr int attempts = 3;
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    try {
      connection.pipeline(unpark_calls(freed, offset_us()));
      return;
    } catch (const SqlError&) { back_off(attempt); } catch (const ConnectionBroken&) {
      return;
    }
  }
}

// Unparks keys that no later event frees, because the process that should have unparked them died or failed. 1 round
// trip when nothing is parked, else 2. The unparking statement decides which keys have room for more than what is
// already claimable.
void PostgresStore::unpark_stranded(Connection& connection) {
  constexpr std::int32_t all_queues = 0;
  const LookPositions::Place from = looks_.get(all_queues);
  const Call look = parked_keys_call(from.first, from.second, std::numeric_limits<std::int32_t>::max(), offset_us());
  const std::vector<ParkedKey> found = read_parked_keys(connection.query(*look.statement, look.params));
  if (std::ssize(found) < limits::parked_keys_per_look) {
    looks_.begin_anew(all_queues);
  } else {
    looks_.set(all_queues, {found.back().queue, found.back().limit_key});
  }
  FreedKeys freed;
  for (const ParkedKey& key : found) {
    const int heaviest = heaviest_start(decode_limits(key.limits), key.load, key.at);
    if (key.in_turn() && key.weight <= heaviest) { freed.add(key.queue, key.limit_key, heaviest); }
  }
  unpark(connection, freed);
}

}  // namespace hapax::store::postgres
