// Claims. For each queue: 1 SELECT of its settings, 1 for delayed executions that are due, 2 on the claim index; 1
// UPDATE for each execution claimed. A claim never reads history, and of live only the executions that it returns or
// passes over (other tasks, passed deadlines). Queues with limits: see claim_limited.cpp.
#include "base/limits.hpp"
#include "store/sqlite/claim_order.hpp"
#include "store/sqlite/claim_row.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/verbs.hpp"

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

// How many delayed executions one claim makes ready at most; the next claims do the rest.
constexpr int promotion_batch = 5000;

const char* claim_range_sql() {
  static const char* const sql = columns::kept_text("SELECT " + columns::names(columns::claim_columns) +
                                                    " FROM live INDEXED BY live_line WHERE line BETWEEN ? AND ? "
                                                    "ORDER BY line, run_at, id");
  return sql;
}
constexpr int deadline_column = columns::index_of(columns::claim_columns, "deadline");
constexpr int task_column = columns::index_of(columns::claim_columns, "task");
constexpr int kind_column = columns::index_of(columns::claim_columns, "kind");

constexpr const char* start_sql =
    "UPDATE live SET line = ?, state = 1, attempt = attempt + 1, fence = fence + 1, session = ?, claim_number = ?, "
    "claimed_at = ?,"
    " finish_kind = NULL WHERE id = ?";
// For a queue that counts its running executions: those without a limit key are marked as counted.
constexpr const char* start_counted_sql =
    "UPDATE live SET line = ?, state = 1, attempt = attempt + 1, fence = fence + 1, session = ?, claim_number = ?, "
    "claimed_at = ?,"
    " finish_kind = NULL, counted = CASE WHEN limit_key IS NULL THEN 1 END WHERE id = ?";
constexpr const char* claim_due_sql =
    "SELECT id, priority, lost FROM live INDEXED BY live_line WHERE line = ? AND run_at <= ? ORDER BY run_at LIMIT ?";
constexpr const char* make_ready_sql = "UPDATE live SET line = ?, state = 0 WHERE id = ?";
constexpr const char* next_due_sql =
    "SELECT run_at FROM live INDEXED BY live_line WHERE line = ? ORDER BY run_at LIMIT 1";

constexpr const char* holdings_sql =
    "SELECT count(*), coalesce(max(lost), 0) FROM live INDEXED BY live_line WHERE line = ? AND session = ?";

void start(WriteTransaction& tx, const QueueRow& queue, const ClaimRequest& request, std::span<const Claim> claims) {
  const std::int64_t place = claim_order::running(request.session);
  Cursor cursor = tx.db().use(queue.counts_running() ? start_counted_sql : start_sql);
  for (const Claim& claim : claims) {
    cursor.bind(place, request.session, request.claim_number, tx.now(), claim.id).run();
  }
}

// Adds the first executions of a line range that the request may claim to `claims`, up to `limit` in all. Does not
// start them.
void read_claimable(WriteTransaction& tx, claim_order::Range range, const QueueRow& queue, const ClaimRequest& request,
                    std::size_t limit, std::vector<Claim>& claims) {
  std::size_t bytes = input_bytes(claims);
  Cursor cursor = tx.db().use(claim_range_sql());
  cursor.bind(range.first, range.last);
  while (claims.size() < limit && bytes < limits::claim_bytes && cursor.next()) {
    const bool too_late = !cursor.is_null(deadline_column) && cursor.time(deadline_column) <= tx.now();
    if (!too_late && wants(request, cursor.text(task_column), static_cast<Kind>(cursor.small(kind_column)))) {
      claims.push_back(read_claim(cursor, queue, tx.now()));
      bytes += claims.back().input.size();
    }
  }
}

// The request's queues that exist and are not paused, in the request's order. Delayed executions that are due are made
// ready.
std::vector<const QueueRow*> open_queues(WriteTransaction& tx, const ClaimRequest& request) {
  std::vector<const QueueRow*> open;
  for (const QueueRef& name : request.queues) {
    const QueueRow* const queue = tx.queues().find(name);
    const bool is_new = std::find(open.begin(), open.end(), queue) == open.end();
    if (queue != nullptr && !queue->settings.paused && is_new) {
      promote_due(tx, *queue);
      if (queue->limited()) { unpark_allowed(tx, *queue); }
      open.push_back(queue);
    }
  }
  return open;
}

// Makes the reply to one claim request: takes executions from the queues in the request's order.
class ClaimBuilder {
 public:
  ClaimBuilder(WriteTransaction& tx, const ClaimRequest& request)
      : tx_(tx), request_(request), queues_(open_queues(tx, request)), idle_(request.idle) {}

  ClaimReply run() {
    for (const QueueRow* const queue : queues_) {
      if (request_.alone) {
        take(claim_order::suspect(queue->id), *queue, 1);
        if (!reply_.claims.empty()) { return std::move(reply_); }
      } else {
        reply_.suspects_due = reply_.suspects_due || suspects_in(*queue);
      }
    }
    const auto limit = static_cast<std::size_t>(request_.limit);
    for (const QueueRow* const queue : queues_) { take(claim_order::ready(queue->id), *queue, limit); }
    if (reply_.claims.size() < limit) {
      // A reply that ended at its byte limit leaves executions that are due now.
      reply_.next_due = input_bytes(reply_.claims) >= limits::claim_bytes ? Duration{0} : next_due();
    }
    return std::move(reply_);
  }

 private:
  bool suspects_in(const QueueRow& queue) {
    if (queue.limited() && !limits_are_open(tx_, queue, request_, idle_)) { return false; }
    std::vector<Claim> due;
    read_claimable(tx_, claim_order::suspect(queue.id), queue, request_, 1, due);
    return !due.empty();
  }

  // Starts the executions of a line range that the request may claim, up to `limit` claims in all.
  void take(claim_order::Range range, const QueueRow& queue, std::size_t limit) {
    const std::size_t before = reply_.claims.size();
    if (queue.limited()) {
      wait_at_most(take_limited(tx_, range, queue, request_, limit, idle_, reply_.claims));
      idle_ -= static_cast<int>(reply_.claims.size() - before);
    } else {
      read_claimable(tx_, range, queue, request_, limit, reply_.claims);
    }
    start(tx_, queue, request_, std::span(reply_.claims).subspan(before));
  }

  void wait_at_most(const std::optional<Duration>& wait) {
    if (wait) { wait_ = wait_ ? std::min(*wait_, *wait) : *wait; }
  }

  std::optional<Duration> next_due() {
    for (const QueueRow* const queue : queues_) {
      Cursor cursor = tx_.db().use(next_due_sql);
      if (cursor.bind(claim_order::delayed(queue->id)).next()) {
        wait_at_most(std::max(cursor.time(0) - tx_.now(), Duration{0}));
      }
      if (queue->settings.limits.key_rate) { wait_at_most(next_key_start(tx_, *queue)); }
    }
    return wait_;
  }

  WriteTransaction& tx_;
  const ClaimRequest& request_;
  const std::vector<const QueueRow*> queues_;
  int idle_;
  std::optional<Duration> wait_;
  ClaimReply reply_;
};

}  // namespace

std::size_t input_bytes(std::span<const Claim> claims) {
  std::size_t bytes = 0;
  for (const Claim& claim : claims) { bytes += claim.input.size(); }
  return bytes;
}

bool wants(const ClaimRequest& request, std::string_view task, Kind kind) {
  if (request.tasks.empty()) { return kind != Kind::workflow; }
  return std::find(request.tasks.begin(), request.tasks.end(), task) != request.tasks.end();
}

Claim read_claim(const Cursor& cursor, const QueueRow& queue, Time now) {
  Claim claim;
  columns::read_columns_at(columns::claim_columns, cursor, 0, [&](const auto& column, const auto& value) {
    claim.*(column.claim) = std::remove_cvref_t<decltype(column)>::Codec::get(value);
  });
  claim.queue = queue.ref;
  claim.limited = queue.limited();
  claim.attempt += 1;
  claim.fence += 1;
  if (claim.deadline) { claim.deadline_in = *claim.deadline - now; }
  claim.claimed_at = now;
  return claim;
}

void promote_due(WriteTransaction& tx, const QueueRow& queue) {
  struct Due {
    Uuid id;
    std::int64_t place;
  };
  std::vector<Due> due;
  {
    Cursor cursor = tx.db().use(claim_due_sql);
    cursor.bind(claim_order::delayed(queue.id), tx.now(), promotion_batch);
    while (cursor.next()) {
      due.push_back({cursor.uuid(0), claim_order::due(queue.id, cursor.small(1), cursor.small(2))});
    }
  }
  Cursor cursor = tx.db().use(make_ready_sql);
  for (const Due& one : due) { cursor.bind(one.place, one.id).run(); }
}

ClaimReply claim(WriteTransaction& tx, const ClaimRequest& request) {
  if (request.limit <= 0 || tx.worker_of(request.session) == nullptr) { return {}; }
  if (!request.by_holdings) { return ClaimBuilder(tx, request).run(); }
  ClaimRequest known = request;
  {
    Cursor cursor = tx.db().use(holdings_sql);
    cursor.bind(claim_order::running(request.session), request.session);
    if (!cursor.next()) { return {}; }
    known.alone = cursor.integer(0) == 0;
    if (cursor.integer(1) > 0) { return {.claims = {}, .suspects_due = true, .next_due = {}}; }
  }
  return ClaimBuilder(tx, known).run();
}

}  // namespace hapax::store::sqlite
