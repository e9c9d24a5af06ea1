// Parked executions (model/claim_limits.hpp) and how they become claimable again.
//
// A transaction that frees a limit key (by an ending, a release, a move) commits first. Then parked executions of that
// key are searched for under the lock of the queue's row, which claims hold while they count and park. So either the
// claim saw the key free, or the search comes after the claim and sees the executions that it parked. If a process dies
// between the two, the sweep unparks them.
//
// A transaction that has a queue's row locked never waits for rows of `live` (SKIP LOCKED throughout), so a transaction
// that has such rows locked may wait for the queue's row.
#pragma once

#include "model/claim_limits.hpp"
#include "store/postgres/connection.hpp"

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hapax::store::postgres {

// Limit keys whose executions have ended or left their workers, so that parked ones may start.
class FreedKeys {
 public:
  struct Freed {
    int places = 0;                                  // how many executions left
    int heaviest = std::numeric_limits<int>::max();  // the greatest weight that may be unparked
  };
  using Keys = std::map<std::pair<std::int32_t, std::string>, Freed>;

  void add(std::int32_t queue, const std::string& limit_key) { keys_[{queue, limit_key}].places += 1; }
  void add(std::int32_t queue, const std::string& limit_key, int heaviest) {
    keys_[{queue, limit_key}] = {.places = 1, .heaviest = heaviest};
  }
  // Reads rows of end_call(): (id, queue, limit key or none).
  void add_ended(const Result& result);
  // Reads rows of wait_call(), which end with queue and limit key. An ordered key is not freed: it stays with its
  // execution.
  void add_waiting(const Result& result);

  [[nodiscard]] bool empty() const { return keys_.empty(); }
  [[nodiscard]] const Keys& keys() const { return keys_; }

 private:
  Keys keys_;
};

// Locks queue rows FOR NO KEY UPDATE, by id. Lock and count must be two statements, so that the second sees what the
// lock waited for.
[[nodiscard]] Call lock_queues_call(const std::vector<std::int32_t>& queues);
// Unparks, for each key, the executions that the rule of model/claim_limits.hpp allows.
[[nodiscard]] Call unpark_call(const FreedKeys& freed, std::int64_t offset_us);
// lock_queues_call() and unpark_call(), for one pipeline.
[[nodiscard]] std::vector<Call> unpark_calls(const FreedKeys& freed, std::int64_t offset_us);
// unpark_call() without the lock, for a caller's own transaction, which may stay open for long. The sweep unparks
// executions that a claim parks meanwhile. Does nothing above READ COMMITTED: updating a row that changed since the
// snapshot would fail the transaction.
[[nodiscard]] Call unpark_unlocked_call(const FreedKeys& freed, std::int64_t offset_us);
// Unparks all executions of a queue.
[[nodiscard]] Call unpark_all_call(std::int32_t queue, std::int64_t offset_us);

// A key with parked executions.
struct ParkedKey {
  std::int32_t queue = 0;
  std::string limit_key;
  model::KeyLoad load;
  int weight = 1;            // of the first parked execution
  bool head_parked = false;  // the execution with the lowest sequence is parked
  std::string limits;        // the queue's limits, encoded
  Time at{};                 // the store's time of this look-up

  // Whether the order of its key lets a parked execution start.
  [[nodiscard]] bool in_turn() const { return !model::decode_limit_key(limit_key).ordered || head_parked; }
};

// Keys with parked executions after (queue, limit key), in order, of queues up to `last`: at most
// limits::parked_keys_per_scan.
[[nodiscard]] Call parked_keys_call(std::int32_t queue, const std::string& limit_key, std::int32_t last,
                                    std::int64_t offset_us);
[[nodiscard]] std::vector<ParkedKey> read_parked_keys(const Result& result);

}  // namespace hapax::store::postgres
