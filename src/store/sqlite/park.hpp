// The table `limited`: the executions that run in queues with limits, and the order in which those of a limit key may
// run.
//
// A live execution has a row in `limited` if it has a limit key or its row is marked as counted. An execution with
// neither never costs a look at the table. Every function that ends an attempt or removes a row of `live`
// (end_execution, make_pending, move) updates or deletes the row, so that only running executions count.
#pragma once

#include "store/sqlite/writer.hpp"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::store::sqlite {

// A live execution as a member of its limit key. `key` as stored (encode_limit_key).
struct KeyMember {
  Uuid id;
  std::int64_t queue_id = 0;
  std::string_view key;
  int priority = 0;
  Time run_at{};
};

// Adds a pending execution at the tail of its key. 1 INSERT; for an ordered key 1 SELECT more.
void join_key(WriteTransaction& tx, const KeyMember& member);
// The execution has ended or was moved to another queue, so the next of the key may run. 1 DELETE, and the cost of
// unpark.
void leave_key(WriteTransaction& tx, const Uuid& id, std::int64_t queue_id, std::string_view key);
// The execution is due or delayed again. 1 UPDATE; for an unordered key whose execution ran, also the cost of unpark.
void key_waits(WriteTransaction& tx, const KeyMember& member, bool ran);
// The execution was claimed. 1 UPDATE.
void key_starts(WriteTransaction& tx, const Uuid& id, std::string_view key, const Uuid& session);

// For an execution without a limit key that starts or stops running in a queue that counts running executions. 1
// statement.
void count_running(WriteTransaction& tx, const Uuid& id, std::int64_t queue_id, const Uuid& session);
void uncount_running(WriteTransaction& tx, const Uuid& id);
// Counts the executions that run already when a queue gets its first limit on running executions.
void count_all_running(WriteTransaction& tx, std::int64_t queue_id);

// Takes a due execution out of the claim order. 2 UPDATEs.
void park(WriteTransaction& tx, const Uuid& id, std::int64_t queue_id, int priority);
// A parked execution that may be the next of its key, by the rule of model/claim_limits.hpp.
struct NextParked {
  Uuid id;
  std::string task;
  int priority = 0;
  int lost = 0;
  std::int64_t rank = 0;
  Time run_at{};
  int weight = 1;
};
// The parked executions that may run next, the first one first. 1 SELECT; for an ordered key 1 more.
[[nodiscard]] std::vector<NextParked> next_parked(WriteTransaction& tx, std::int64_t queue_id, std::string_view key);
inline constexpr int any_weight = std::numeric_limits<int>::max();
// Returns the executions of next_parked() to the claim order for which there is room. The cost of next_parked(), 1
// SELECT more if there are any, and for each one 1 SELECT and 2 UPDATEs.
void unpark(WriteTransaction& tx, std::int64_t queue_id, std::string_view key, int heaviest = any_weight);
// How many executions of the key run. 1 SELECT.
[[nodiscard]] std::int64_t key_running(WriteTransaction& tx, std::int64_t queue_id, std::string_view key);
// Whether a live execution of the ordered key has a lower rank. 1 SELECT.
[[nodiscard]] bool is_preceded(WriteTransaction& tx, std::int64_t queue_id, std::string_view key, std::int64_t rank);
void unpark_all(WriteTransaction& tx, std::int64_t queue_id);

[[nodiscard]] bool is_ordered(std::string_view key);

}  // namespace hapax::store::sqlite
