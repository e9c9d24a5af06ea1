// Parked executions (model/claim_limits.hpp) and how they get back into the line.
//
// What frees a limit key (an ending, a release, a move) is committed first; then one parked execution of the key is
// looked for under the lock of its queue's row, which claims hold while they count and park. So either the claim saw the
// key free, or this comes after it and sees what it parked. A process that dies in between leaves the key to the sweep.
//
// Who has a queue's row locked never waits for rows of `live` (SKIP LOCKED throughout), so it may be waited for by those
// who have such rows.
#pragma once

#include "model/claim_limits.hpp"
#include "store/postgres/connection.hpp"

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hapax::store::postgres {

// Limit keys of queues in which something was freed.
class FreedKeys {
 public:
  struct Freed {
    int places = 0;                                  // how many have left
    int heaviest = std::numeric_limits<int>::max();  // of those that may go back into the line
  };
  using Keys = std::map<std::pair<std::int32_t, std::string>, Freed>;

  void add(std::int32_t queue, const std::string& limit_key) { keys_[{queue, limit_key}].places += 1; }
  void add(std::int32_t queue, const std::string& limit_key, int heaviest) {
    keys_[{queue, limit_key}] = {.places = 1, .heaviest = heaviest};
  }
  // Rows of end_call: (id, queue, limit key or none).
  void add_ended(const Result& result);
  // Rows of wait_call, in which the same come last. An ordered key stays its execution's.
  void add_waiting(const Result& result);

  [[nodiscard]] bool empty() const { return keys_.empty(); }
  [[nodiscard]] const Keys& keys() const { return keys_; }

 private:
  Keys keys_;
};

// FOR NO KEY UPDATE, by number. Lock and count must be two statements: the second sees what the lock waited for.
[[nodiscard]] Call lock_queues_call(const std::vector<std::int32_t>& queues);
// Of each key those that may go back into the line by the rule of model/claim_limits.hpp.
[[nodiscard]] Call unpark_call(const FreedKeys& freed, std::int64_t offset_us);
// Both for one pipeline.
[[nodiscard]] std::vector<Call> unpark_calls(const FreedKeys& freed, std::int64_t offset_us);
// Without the lock, for a caller's own transaction, which may stay open for long: what a claim parks meanwhile is left
// to the sweep. Does nothing in a transaction with one snapshot for all: a row that changed since would spoil it.
[[nodiscard]] Call unpark_unlocked_call(const FreedKeys& freed, std::int64_t offset_us);
// All of a queue.
[[nodiscard]] Call unpark_all_call(std::int32_t queue, std::int64_t offset_us);

// A key with parked executions.
struct ParkedKey {
  std::int32_t queue = 0;
  std::string limit_key;
  model::KeyLoad load;
  int weight = 1;            // of the first parked one
  bool head_parked = false;  // the lowest sequence is a parked one's
  std::string limits;        // of the queue
  Time at{};                 // when it was looked at

  // Whether its turn has come, as far as its key's order goes.
  [[nodiscard]] bool in_turn() const { return !model::decode_limit_key(limit_key).ordered || head_parked; }
};

// Keys behind (queue, limit key), at most limits::parked_keys_per_look of queues up to `last`, in order.
[[nodiscard]] Call parked_keys_call(std::int32_t queue, const std::string& limit_key, std::int32_t last,
                                    std::int64_t offset_us);
[[nodiscard]] std::vector<ParkedKey> read_parked_keys(const Result& result);

}  // namespace hapax::store::postgres
