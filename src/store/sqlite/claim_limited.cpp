// Claims from a queue with limits. The writer's lock keeps other claims out.
//
// For each such queue: 1 SELECT along the line range, without payloads; 1 count if the queue limits running executions;
// 1 to 3 SELECTs for each limit key met. For each execution claimed: 1 SELECT, and with a key or a count 1 statement on
// `limited`. For each execution parked: 2 UPDATEs. For the rates used: 1 UPDATE per queue, 1 INSERT or UPDATE per key.
#include "base/limits.hpp"
#include "model/claim_limits.hpp"
#include "store/sqlite/claim_row.hpp"
#include "store/sqlite/park.hpp"
#include "store/sqlite/verbs.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace hapax::store::sqlite {

namespace {

// How many executions one claim parks at most in a queue; the next claims do the rest.
constexpr int parking_batch = 5000;

constexpr const char* claim_limited_line_sql =
    "SELECT live.id, live.deadline, live.task, live.priority, limited.limit_key, limited.rank, live.weight,"
    " live.kind"
    " FROM live INDEXED BY live_line LEFT JOIN limited ON limited.execution = live.id"
    " WHERE live.line BETWEEN ? AND ? ORDER BY live.line, live.run_at, live.id";
const char* claim_one_sql() {
  static const char* const sql =
      columns::kept_text("SELECT " + columns::names(columns::claim_columns) + " FROM live WHERE id = ?");
  return sql;
}
constexpr const char* running_sql =
    "SELECT count(*), coalesce(sum(session = ?), 0) FROM limited INDEXED BY limited_order"
    " WHERE queue_id = ? AND state = 1";
constexpr const char* key_arrival_sql = "SELECT arrival FROM key_rates WHERE queue_id = ? AND limit_key = ?";
constexpr const char* save_arrival_sql =
    "INSERT INTO key_rates(queue_id, limit_key, arrival) VALUES (?, ?, ?)"
    " ON CONFLICT(queue_id, limit_key) DO UPDATE SET arrival = excluded.arrival";
constexpr const char* insert_rate_sql =
    "INSERT OR IGNORE INTO key_rates(queue_id, limit_key, arrival) VALUES (?, ?, ?)";
constexpr const char* waiting_keys_sql =
    "SELECT limit_key, arrival FROM key_rates INDEXED BY key_rates_arrival WHERE queue_id = ?1"
    " AND EXISTS (SELECT 1 FROM limited INDEXED BY limited_order"
    " WHERE limited.queue_id = ?1 AND limited.state = 2 AND limited.limit_key = key_rates.limit_key) ORDER BY arrival";
constexpr const char* sweep_rates_sql =
    "DELETE FROM key_rates WHERE arrival <= ? AND NOT EXISTS (SELECT 1 FROM limited INDEXED BY limited_order"
    " WHERE limited.queue_id = key_rates.queue_id AND limited.state = 2 AND limited.limit_key = key_rates.limit_key)";

QueueLoad load_of(WriteTransaction& tx, const QueueRow& queue, const Uuid& session) {
  QueueLoad load{.arrival = queue.rate_arrival};
  if (queue.counts_running()) {
    Cursor cursor = tx.db().use(running_sql);
    if (cursor.bind(session, queue.id).next()) {
      load.running = cursor.integer(0);
      load.running_here = cursor.integer(1);
    }
  }
  return load;
}

KeyLoad load_of(WriteTransaction& tx, const QueueRow& queue, const std::string& key) {
  KeyLoad load;
  load.running = key_running(tx, queue.id, key);
  if (queue.settings.limits.key_rate) {
    Cursor arrival = tx.db().use(key_arrival_sql);
    if (arrival.bind(queue.id, key).next()) { load.arrival = arrival.time(0); }
  }
  return load;
}

struct Candidate {
  Uuid id;
  int priority = 0;
  std::optional<std::string> key;
  std::int64_t rank = 0;
  int weight = 1;
  Claim claim;  // only of a candidate that starts
};

// Walks along a line range and offers its executions to the queue's limits. The results are written after the walk.
class LimitedWalk {
 public:
  LimitedWalk(WriteTransaction& tx, const QueueRow& queue, const ClaimRequest& request, int idle)
      : tx_(tx),
        queue_(queue),
        request_(request),
        limits_(queue.settings.limits, load_of(tx, queue, request.session), idle, tx.now()) {}

  // `bytes`: of the inputs that are in the reply already.
  void walk(claim_order::Range range, std::size_t most, std::size_t bytes) {
    Cursor cursor = tx_.db().use(claim_limited_line_sql);
    cursor.bind(range.first, range.last);
    while (started_.size() < most && bytes < limits::claim_bytes && cursor.next()) {
      const bool too_late = !cursor.is_null(1) && cursor.time(1) <= tx_.now();
      if (too_late || !wants(request_, cursor.text(2), static_cast<Kind>(cursor.small(7)))) { continue; }
      Candidate candidate{.id = cursor.uuid(0), .priority = cursor.small(3)};
      candidate.key = cursor.optional(4, &Cursor::string);
      candidate.rank = cursor.integer(5);
      if (!cursor.is_null(6)) { candidate.weight = cursor.small(6); }
      const ClaimLimits::Step step = offer(candidate);
      if (step == ClaimLimits::Step::stop) { break; }
      const bool starts = step == ClaimLimits::Step::start;
      if (!starts && std::ssize(parked_) == parking_batch) {
        unfinished_ = true;
        break;
      }
      if (starts) {
        candidate.claim = read_started(candidate.id);
        bytes += candidate.claim.input.size();
      }
      (starts ? started_ : parked_).push_back(std::move(candidate));
    }
  }

  void write(std::vector<Claim>& claims) {
    for (const Candidate& one : parked_) { write_parked(one); }
    for (Candidate& one : started_) {
      write_started(one);
      claims.push_back(std::move(one.claim));
    }
    if (limits_.arrival()) { tx_.queues().save_arrival(queue_, limits_.arrival()); }
    if (queue_.settings.limits.key_rate) {
      for (const auto& [key, known] : keys_) {
        if (known.started) { tx_.db().use(save_arrival_sql).bind(queue_.id, key, known.load.arrival).run(); }
      }
    }
  }

  // How long until more executions may start. 0 when the walk stopped at parking_batch, as the executions behind may be
  // claimable.
  [[nodiscard]] std::optional<Duration> wait() const {
    return unfinished_ ? std::optional(Duration{0}) : limits_.wait();
  }

 private:
  struct KnownKey {
    KeyLoad load;
    bool started = false;
  };

  ClaimLimits::Step offer(const Candidate& candidate) {
    if (!candidate.key) { return limits_.offer(candidate.weight, nullptr); }
    const auto [known, is_new] = keys_.try_emplace(*candidate.key);
    if (is_new) { known->second.load = load_of(tx_, queue_, *candidate.key); }
    Keyed keyed{.load = &known->second.load, .ordered = is_ordered(*candidate.key)};
    // If one of the key runs, the key has no room, so the order within the key does not matter.
    if (keyed.ordered && keyed.load->running == 0) {
      keyed.first = !is_preceded(tx_, queue_.id, *candidate.key, candidate.rank);
    }
    const ClaimLimits::Step step = limits_.offer(candidate.weight, &keyed);
    if (step == ClaimLimits::Step::start) { known->second.started = true; }
    return step;
  }

  void write_parked(const Candidate& candidate) {
    park(tx_, candidate.id, queue_.id, candidate.priority);
    // unpark_allowed finds the key by this row.
    if (queue_.settings.limits.key_rate) {
      tx_.db().use(insert_rate_sql).bind(queue_.id, *candidate.key, tx_.now()).run();
    }
  }

  Claim read_started(const Uuid& id) {
    Cursor cursor = tx_.db().use(claim_one_sql());
    return cursor.bind(id).next() ? read_claim(cursor, queue_, tx_.now()) : Claim();
  }

  void write_started(Candidate& candidate) {
    if (candidate.key) {
      candidate.claim.limit_key = decode_limit_key(*candidate.key);
      key_starts(tx_, candidate.id, *candidate.key, request_.session);
    } else if (queue_.counts_running()) {
      count_running(tx_, candidate.id, queue_.id, request_.session);
    }
  }

  WriteTransaction& tx_;
  const QueueRow& queue_;
  const ClaimRequest& request_;
  ClaimLimits limits_;
  std::map<std::string, KnownKey> keys_;
  std::vector<Candidate> started_;
  std::vector<Candidate> parked_;
  bool unfinished_ = false;
};

}  // namespace

std::optional<Duration> take_limited(WriteTransaction& tx, claim_order::Range range, const QueueRow& queue,
                                     const ClaimRequest& request, std::size_t limit, int idle,
                                     std::vector<Claim>& claims) {
  if (claims.size() >= limit) { return std::nullopt; }
  LimitedWalk walk(tx, queue, request, idle);
  walk.walk(range, limit - claims.size(), input_bytes(claims));
  walk.write(claims);
  return walk.wait();
}

bool limits_are_open(WriteTransaction& tx, const QueueRow& queue, const ClaimRequest& request, int idle) {
  return ClaimLimits(queue.settings.limits, load_of(tx, queue, request.session), idle, tx.now()).open();
}

void unpark_allowed(WriteTransaction& tx, const QueueRow& queue) {
  const QueueLimits& limits = queue.settings.limits;
  if (!limits.key_rate) { return; }
  std::vector<std::string> allowed;
  {
    Cursor cursor = tx.db().use(waiting_keys_sql);
    cursor.bind(queue.id);
    // The keys come in order of arrival: after the first that has to wait, all have to.
    while (cursor.next() && !key_wait(limits, {.arrival = cursor.time(1)}, 1, tx.now())) {
      allowed.push_back(cursor.string(0));
    }
  }
  for (const std::string& key : allowed) {
    unpark(tx, queue.id, key, heaviest_start(limits, load_of(tx, queue, key), tx.now()));
  }
}

std::optional<Duration> next_key_start(WriteTransaction& tx, const QueueRow& queue) {
  const QueueLimits& limits = queue.settings.limits;
  std::optional<Duration> least;
  Cursor cursor = tx.db().use(waiting_keys_sql);
  cursor.bind(queue.id);
  while (cursor.next()) {
    const KeyLoad load{.arrival = cursor.time(1)};
    // The keys come in order of arrival: later ones wait longer, whatever their weight.
    if (least && key_wait(limits, load, 1, tx.now()) >= least) { break; }
    const std::vector<NextParked> next = next_parked(tx, queue.id, cursor.string(0));
    if (next.empty()) { continue; }
    const std::optional<Duration> wait = key_wait(limits, load, next.front().weight, tx.now());
    if (wait) { least = least ? std::min(*least, *wait) : *wait; }
  }
  return least;
}

void sweep_key_rates(WriteTransaction& tx) { tx.db().use(sweep_rates_sql).bind(tx.now()).run(); }

}  // namespace hapax::store::sqlite
