// The table `limited`: what runs in queues with limits, and who of a limit key may run next.
//
// Whether a live execution has a row there is told by its own row: it has a limit key, or is marked as counted. So what
// has neither never asks, and every way out of running or out of live (end_execution, wait_again, move) takes the row
// along: nothing is counted that does not run.
#pragma once

#include "store/sqlite/write_transaction.hpp"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::store::sqlite {

// A live execution as its key sees it. `key` as stored (encode_limit_key).
struct KeyMember {
  Uuid id;
  std::int64_t queue_id = 0;
  std::string_view key;
  int priority = 0;
  Time run_at{};
};

// A pending execution joins its key at the tail. 1 INSERT; of an ordered key 1 SELECT more.
void join_key(WriteTransaction& tx, const KeyMember& member);
// It ended, or is moved away: the next of the key may go. 1 DELETE and the unparking.
void leave_key(WriteTransaction& tx, const Uuid& id, std::int64_t queue_id, std::string_view key);
// It is in the line of due or delayed ones again. 1 UPDATE; of an unordered key that ran, the unparking.
void key_waits(WriteTransaction& tx, const KeyMember& member, bool ran);
// It was claimed. 1 UPDATE.
void key_starts(WriteTransaction& tx, const Uuid& id, std::string_view key, const Uuid& session);

// Of an execution without a limit key, that starts in a queue that counts those that run, or stops running. 1 statement.
void count_running(WriteTransaction& tx, const Uuid& id, std::int64_t queue_id, const Uuid& session);
void uncount_running(WriteTransaction& tx, const Uuid& id);
// The queue has just got a limit on how many may run: those that run already count too.
void count_all_running(WriteTransaction& tx, std::int64_t queue_id);

// A due execution leaves the line. 2 UPDATEs.
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
// The next first. 1 SELECT; of an ordered key 1 more.
[[nodiscard]] std::vector<NextParked> next_parked(WriteTransaction& tx, std::int64_t queue_id, std::string_view key);
// Those of them go back into the line for which there is room. 1 SELECT more if there are any; and for each 1 SELECT and
// 2 UPDATEs.
inline constexpr int any_weight = std::numeric_limits<int>::max();
void unpark(WriteTransaction& tx, std::int64_t queue_id, std::string_view key, int heaviest = any_weight);
// 1 SELECT.
[[nodiscard]] std::int64_t key_running(WriteTransaction& tx, std::int64_t queue_id, std::string_view key);
// Whether a live one of the ordered key has a lower rank. 1 SELECT.
[[nodiscard]] bool is_preceded(WriteTransaction& tx, std::int64_t queue_id, std::string_view key, std::int64_t rank);
void unpark_all(WriteTransaction& tx, std::int64_t queue_id);

[[nodiscard]] bool is_ordered(std::string_view key);

}  // namespace hapax::store::sqlite
