#include "base/limits.hpp"
#include "model/claim_limits.hpp"
#include "store/postgres/claim.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/execution_row.hpp"
#include "store/postgres/park.hpp"
#include "store/postgres/result.hpp"

#include <algorithm>
#include <map>

namespace hapax::store::postgres {

namespace {

using namespace model;

// How many batches of candidates one claim reads while it parks all of them. The next claim reads on.
constexpr int candidate_batches_max = 8;

constexpr Statement mark_held{"hapax_mark_held", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
unmarked AS MATERIALIZED (
  SELECT l.id FROM {s}.live l
  WHERE (SELECT q.limited_since + 60000000 > t.now FROM {s}.queues q, t WHERE q.id = $2::int)
    AND l.state = 1 AND l.queue_id = $2::int AND l.held IS NULL FOR UPDATE SKIP LOCKED)
UPDATE {s}.live SET held = true WHERE id = ANY (ARRAY(SELECT id FROM unmarked)) AND state + 0 = 1)"};

// Counts only those executions that the queue's limits refer to. Runs after the statement that locks the queue, so that
// it sees all earlier claims.
constexpr Statement queue_load{"hapax_limited_load", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT t.now, q.limited, NOT q.paused AND EXISTS (SELECT FROM {s}.sessions x WHERE x.id = $3::uuid), q.limits,
       CASE WHEN q.limits LIKE '%"concurrency"%' THEN (
         SELECT count(*) FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 1 AND l.held) END,
       CASE WHEN q.limits LIKE '%"worker_concurrency"%' THEN (
         SELECT count(*) FROM {s}.live l WHERE l.session = $3::uuid AND l.state = 1 AND l.queue_id = q.id) END,
       (SELECT r.arrival FROM {s}.rates r WHERE r.queue_id = q.id AND r.limit_key = ''),
       EXISTS (SELECT FROM {s}.live l
               WHERE l.queue_id = q.id AND l.state = 0 AND l.lost > 0 AND (l.deadline IS NULL OR l.deadline > t.now)
                 AND ((cardinality($4::text[]) = 0 AND l.kind <> 1) OR l.task = ANY ($4::text[]))),
       (SELECT l.run_at FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 2 ORDER BY l.run_at LIMIT 1)
FROM t CROSS JOIN {s}.queues q WHERE q.id = $2::int)"};

// The next due executions in claim order, locked, each with the state of its limit key.
constexpr const char* candidates_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
c AS MATERIALIZED (
  SELECT l.id, l.priority, l.run_at, l.weight, l.limit_key, l.sequence, octet_length(l.input) AS bytes FROM {s}.live l
  WHERE l.queue_id = $2::int AND l.state = 0 AND l.lost {lost} AND (l.deadline IS NULL OR l.deadline > (SELECT now FROM t))
    AND ((cardinality($3::text[]) = 0 AND l.kind <> 1) OR l.task = ANY ($3::text[]))
  ORDER BY l.priority DESC, l.run_at, l.id LIMIT $4::bigint FOR UPDATE SKIP LOCKED)
SELECT c.id, coalesce(c.weight, 1), c.limit_key,
       CASE WHEN c.limit_key IS NOT NULL THEN (
         SELECT count(*) FROM {s}.live k WHERE k.queue_id = $2::int AND k.limit_key = c.limit_key
                                           AND k.limit_key IS NOT NULL AND k.state = 1) END,
       CASE WHEN c.limit_key LIKE 'o:%' THEN NOT EXISTS (
         SELECT FROM {s}.live k WHERE k.queue_id = $2::int AND k.limit_key = c.limit_key AND k.limit_key IS NOT NULL
                                  AND k.state = ANY ('{0,1,2,3}'::smallint[]) AND k.sequence < c.sequence) ELSE true END,
       (SELECT r.arrival FROM {s}.rates r WHERE r.queue_id = $2::int AND r.limit_key = c.limit_key), c.bytes
FROM c ORDER BY c.priority DESC, c.run_at, c.id)";

// Starts executions that are locked and ready, at the time for which the limits were computed.
constexpr const char* start_text = R"(
WITH taken AS (
  UPDATE {s}.live l
  SET state = 1, attempt = l.attempt + 1, fence = l.fence + 1, session = $2::uuid, claim_number = $3::bigint,
      claimed_at = $1::bigint, left_by = NULL, held = true,
      sequence = CASE WHEN l.limit_key LIKE 'o:%' THEN $5::bigint ELSE l.sequence END
  WHERE l.id = ANY ($4::uuid[]) AND l.state = 0
  RETURNING {claimed})
SELECT $1::bigint, false, NULL::bigint, '{}'::int[], taken.* FROM taken)";

constexpr Statement park{"hapax_park", "UPDATE {s}.live SET state = 3 WHERE id = ANY ($1::uuid[]) AND state = 0"};

constexpr Statement put_rates{"hapax_put_rates", R"(
INSERT INTO {s}.rates (queue_id, limit_key, arrival)
SELECT $1::int, u.limit_key, u.arrival FROM unnest($2::text[], $3::bigint[]) u(limit_key, arrival)
ON CONFLICT (queue_id, limit_key) DO UPDATE SET arrival = excluded.arrival)"};

const Statement& fresh_candidates() {
  static const Statement& statement = made_statement("hapax_limited_fresh", fill(candidates_text, {{"{lost}", "= 0"}}));
  return statement;
}

const Statement& suspect_candidates() {
  static const Statement& statement =
      made_statement("hapax_limited_suspects", fill(candidates_text, {{"{lost}", "> 0"}}));
  return statement;
}

const Statement& start_statement() {
  static const Statement& statement = made_statement("hapax_limited_start", with_claimed_columns(start_text));
  return statement;
}

Array task_array(const ClaimRequest& request) {
  Array tasks(Type::text, request.tasks.size());
  for (const std::string& task : request.tasks) { tasks.bytes(task); }
  return tasks;
}

struct Candidate {
  Uuid id;
  int weight = 1;
  std::optional<std::string> limit_key;
  KeyLoad load;
  bool first = true;
  int bytes = 0;  // of the input
};

Candidate read_candidate(const Result& result, int row) {
  RowReader reader(result, row);
  Candidate candidate;
  candidate.id = reader.uuid();
  candidate.weight = reader.int4();
  candidate.limit_key = reader.optional_bytes();
  candidate.load.running = reader.int8();
  candidate.first = reader.boolean();
  candidate.load.arrival = reader.optional_time();
  candidate.bytes = reader.int4();
  return candidate;
}

// Claims from one queue, in one transaction. Used once, by one thread.
class LimitedClaim {
 public:
  LimitedClaim(const ClaimWork& work, const ClaimRequest& request, const QueueClaim& order, std::int32_t queue)
      : work_(work), request_(request), order_(order), queue_(queue) {}

  QueueReply run() {
    TransactionGuard guard(work_.connection, TransactionGuard::Pipelined());
    if (lock_and_load()) { take(); }
    pending_.push_back(TransactionGuard::commit_call());
    send("postgres.exchange.before_commit");
    guard.committed();
    return std::move(reply_);
  }

 private:
  struct Key {
    KeyLoad load;
    std::optional<int> parked_weight;  // smallest weight of the parked executions whose turn it is in the key
    bool has_started = false;
  };

  // False when no execution of the queue may start.
  bool lock_and_load() {
    pending_.push_back(TransactionGuard::begin_call());
    pending_.push_back(lock_queues_call({queue_}));
    pending_.push_back(mark_held_call(queue_, work_.offset_us));
    ClaimRequest only = request_;
    only.queues = {order_.queue};
    pending_.push_back(promote_call(only, work_.offset_us));
    Params params;
    params.int8(work_.offset_us).int4(queue_).uuid(request_.session).array(task_array(request_));
    pending_.push_back({&queue_load, std::move(params)});
    const std::vector<Result> results = send();
    RowReader reader(results.back(), 0);
    now_ = reader.time();
    reply_.is_limited = reader.boolean();
    if (!reader.boolean() || !reply_.is_limited) { return false; }
    limits_ = decode_limits(reader.bytes());
    QueueLoad counted;
    counted.running = reader.int8();
    counted.running_here = reader.int8();
    counted.arrival = reader.optional_time();
    has_suspects_ = reader.boolean();
    if (const auto delayed = reader.optional_time()) { due_at_most(std::max(*delayed - now_, Duration{0})); }
    meter_.emplace(limits_, counted, order_.idle, now_);
    due_at_most(meter_->wait());
    return meter_->open();
  }

  void take() {
    reply_.suspects_due = has_suspects_;
    if (limits_.key_rate) { unpark_allowed(); }
    if (order_.suspect && has_suspects_) { claim_candidates(suspect_candidates(), 1); }
    if (order_.fresh && started_ == 0) { claim_candidates(fresh_candidates(), order_.limit); }
    due_at_most(meter_->wait());
    put_arrivals();
    for (const auto& [name, key] : keys_) {
      if (key.parked_weight) { due_at_most(key_wait(limits_, key.load, *key.parked_weight, now_)); }
    }
  }

  // With a rate per limit key: unparks the keys whose rate allows a start now.
  void unpark_allowed() {
    const ParkedScanPositions::Place from = work_.looks.get(queue_);
    pending_.push_back(parked_keys_call(from.first, from.second, queue_, work_.offset_us));
    const std::vector<ParkedKey> found = read_parked_keys(send().back());
    if (std::ssize(found) < limits::parked_keys_per_scan) {
      work_.looks.begin_anew(queue_);
    } else {
      work_.looks.set(queue_, {queue_, found.back().limit_key});
    }
    FreedKeys freed;
    for (const ParkedKey& parked : found) {
      Key& key = keys_[parked.limit_key];
      key.load = parked.load;
      if (!parked.in_turn()) { continue; }
      key.parked_weight = parked.weight;
      const int heaviest = heaviest_start(limits_, parked.load, now_);
      if (parked.weight <= heaviest) { freed.add(queue_, parked.limit_key, heaviest); }
    }
    if (!freed.empty()) { pending_.push_back(unpark_call(freed, work_.offset_us)); }
  }

  // Offers due executions until enough have started, a limit of the queue is reached, or there are no more.
  void claim_candidates(const Statement& candidates, int most) {
    most = std::min(most, limits::claim_batch);
    int chunk = most;
    for (int batch = 0; batch < candidate_batches_max; ++batch) {
      Params params;
      params.int8(work_.offset_us).int4(queue_).array(task_array(request_)).int8(chunk);
      pending_.push_back({&candidates, std::move(params)});
      const Result due = std::move(send().back());
      if (!offer(due, most) || due.rows() < chunk) { return; }
      chunk = limits::claim_batch;
    }
    due_at_most(Duration{0});
  }

  // Offers the executions to the limits. False when no more may start.
  bool offer(const Result& due, int most) {
    std::vector<Uuid> starting, parking;
    bool may_start_more = true;
    for (int row = 0; may_start_more && row < due.rows(); ++row) {
      const Candidate candidate = read_candidate(due, row);
      const ClaimLimits::Step step = offer(candidate);
      if (step == ClaimLimits::Step::park) {
        parking.push_back(candidate.id);
      } else if (step == ClaimLimits::Step::start) {
        starting.push_back(candidate.id);
        started_ += 1;
        bytes_ += static_cast<std::size_t>(candidate.bytes);
      }
      const bool is_heavy = bytes_ >= limits::claim_bytes;
      if (is_heavy) { due_at_most(Duration{0}); }
      may_start_more = step != ClaimLimits::Step::stop && started_ < most && !is_heavy;
    }
    if (!starting.empty()) {
      Params params;
      params.int8(now_.time_since_epoch().count()).uuid(request_.session).int8(request_.claim_number);
      params.array(uuid_array(starting)).int8(head_sequence);
      pending_.push_back({&start_statement(), std::move(params)});
    }
    if (!parking.empty()) { pending_.push_back({&park, Params().array(uuid_array(parking))}); }
    return may_start_more;
  }

  ClaimLimits::Step offer(const Candidate& candidate) {
    if (!candidate.limit_key) { return meter_->offer(candidate.weight, nullptr); }
    Key& key = keys_.try_emplace(*candidate.limit_key, Key{.load = candidate.load}).first->second;
    const Keyed keyed{
        .load = &key.load, .ordered = decode_limit_key(*candidate.limit_key).ordered, .first = candidate.first};
    const ClaimLimits::Step step = meter_->offer(candidate.weight, &keyed);
    const bool waits = step == ClaimLimits::Step::park && (!keyed.ordered || keyed.first);
    if (waits) { key.parked_weight = std::min(key.parked_weight.value_or(candidate.weight), candidate.weight); }
    key.has_started = key.has_started || step == ClaimLimits::Step::start;
    return step;
  }

  void put_arrivals() {
    Array names(Type::text), arrivals(Type::int8);
    bool any = false;
    const auto put = [&](std::string_view name, const std::optional<Time>& arrival) {
      if (!arrival) { return; }
      names.bytes(name);
      arrivals.int8(arrival->time_since_epoch().count());
      any = true;
    };
    put("", meter_->arrival());
    for (const auto& [name, key] : keys_) {
      if (key.has_started && limits_.key_rate) { put(name, key.load.arrival); }
    }
    if (!any) { return; }
    Params params;
    params.int4(queue_).array(std::move(names)).array(std::move(arrivals));
    pending_.push_back({&put_rates, std::move(params)});
  }

  // Sends what is pending in one round trip; claims among the results are added to the reply.
  std::vector<Result> send(const char* before_commit = nullptr) {
    const std::vector<Call> calls = std::move(pending_);
    pending_.clear();
    std::vector<Result> results = work_.connection.pipeline(calls, before_commit);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].statement != &start_statement()) { continue; }
      for (Claim& one : read_claims(results[i], request_, work_.connection, work_.queues).reply.claims) {
        one.limited = true;
        reply_.claims.push_back(std::move(one));
      }
    }
    return results;
  }

  void due_at_most(const std::optional<Duration>& in) {
    if (in) { reply_.next_due = reply_.next_due ? std::min(*reply_.next_due, *in) : *in; }
  }

  const ClaimWork& work_;
  const ClaimRequest& request_;
  const QueueClaim& order_;
  const std::int32_t queue_;
  Time now_{};
  QueueLimits limits_;
  std::optional<ClaimLimits> meter_;
  bool has_suspects_ = false;
  int started_ = 0;
  std::size_t bytes_ = 0;  // of the inputs of the started executions
  std::map<std::string, Key> keys_;
  std::vector<Call> pending_;
  QueueReply reply_;
};

}  // namespace

QueueReply claim_limited(const ClaimWork& work, const ClaimRequest& request, const QueueClaim& order) {
  const std::optional<std::int32_t> queue = work.queues.find(work.connection, order.queue);
  if (!queue) { return {.is_limited = false}; }
  try {
    return LimitedClaim(work, request, order, *queue).run();
  } catch (const SqlError& error) {
    if (!error.is_lock_timeout()) { throw; }
  }
  return {.next_due = Duration{0}};
}

Call mark_held_call(std::int32_t queue, std::int64_t offset_us) {
  return {&mark_held, Params().int8(offset_us).int4(queue)};
}

}  // namespace hapax::store::postgres
