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

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hapax::store::postgres {

// Limit keys of queues, and how many of each may go back into the line.
class FreedKeys {
 public:
  void add(std::int32_t queue, const std::string& limit_key) { keys_[{queue, limit_key}] += 1; }
  // Rows of end_call: (id, queue, limit key or none).
  void add_ended(const Result& result);
  // Rows of wait_call, in which the same come last. An ordered key stays its execution's.
  void add_waiting(const Result& result);

  [[nodiscard]] bool empty() const { return keys_.empty(); }
  [[nodiscard]] const std::map<std::pair<std::int32_t, std::string>, int>& keys() const { return keys_; }

 private:
  std::map<std::pair<std::int32_t, std::string>, int> keys_;
};

// FOR NO KEY UPDATE, by number. Lock and count must be two statements: the second sees what the lock waited for.
[[nodiscard]] Call lock_queues_call(const std::vector<std::int32_t>& queues);
// The first parked one of each key, as many as were freed.
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
  int in_line = 0;           // due and not parked; counted up to ten
  bool head_parked = false;  // the lowest sequence is a parked one's
  std::string limits;        // of the queue
  Time at{};                 // when it was looked at
};

// Keys behind (queue, limit key), at most limits::parked_keys_per_look of queues up to `last`, in order.
[[nodiscard]] Call parked_keys_call(std::int32_t queue, const std::string& limit_key, std::int32_t last,
                                    std::int64_t offset_us);
[[nodiscard]] std::vector<ParkedKey> read_parked_keys(const Result& result);

}  // namespace hapax::store::postgres
