#include "base/plain_path.hpp"
#include "store/postgres/claim.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/postgres_store.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <future>
#include <iterator>
#include <numeric>

namespace hapax::store::postgres {

namespace {

constexpr int side_by_side = 128;

constexpr Statement holdings_statement{"hapax_session_holdings", R"(
SELECT count(*), coalesce(max(lost), 0)::bigint FROM {s}.live WHERE session = $1::uuid AND state = 1)"};

// How long the store assumes less about outcomes after an assumption has failed, or after an outcome had waiters.
constexpr std::chrono::minutes fast_path_left_for{1};

bool goes_by_steps(const Finish& finish, bool with_entries) {
  if (!finish.turn) { return false; }
  const std::vector<JournalEntry>& entries = finish.turn->entries;
  return finish.kind == FinishKind::continued || (with_entries && !entries.empty()) ||
         std::any_of(entries.begin(), entries.end(), [](const JournalEntry& entry) { return entry.start != nullptr; });
}

}  // namespace

// Outcomes whose turns start executions or a next run are finished first, in a transaction of their own. If the rest
// fails, only the rest is repeated: by then another session may have claimed a finished run under the next fence.
Exchange PostgresStore::exchange_once(Connection& connection, std::span<const Finish> finishes,
                                      const ClaimRequest* claim, Stepped& stepped, bool& maybe_committed) {
  std::vector<std::size_t> places;
  std::vector<Finish> next, plain;
  for (std::size_t i = 0; i < finishes.size(); ++i) {
    if (stepped.verdicts.contains(i) || !goes_by_steps(finishes[i], stepped.all)) { continue; }
    places.push_back(i);
    next.push_back(finishes[i]);
  }
  if (places.empty() && stepped.verdicts.empty()) {
    return exchange_plain(connection, finishes, claim, maybe_committed);
  }
  if (!next.empty()) {
    const std::vector<FinishVerdict> verdicts = finish_by_steps(connection, next, stepped.woken);
    maybe_committed = true;
    for (std::size_t i = 0; i < places.size(); ++i) { stepped.verdicts[places[i]] = verdicts[i]; }
  }
  for (std::size_t i = 0; i < finishes.size(); ++i) {
    if (!stepped.verdicts.contains(i)) { plain.push_back(finishes[i]); }
  }
  Exchange exchange = exchange_plain(connection, plain, claim, maybe_committed);
  for (const auto& [place, verdict] : stepped.verdicts) {
    exchange.verdicts.insert(exchange.verdicts.begin() + static_cast<std::ptrdiff_t>(place), verdict);
  }
  std::set<QueueRef> woken = stepped.woken;
  woken.insert(exchange.woken.begin(), exchange.woken.end());
  exchange.woken.assign(woken.begin(), woken.end());
  return exchange;
}

// Writes outcomes, promotes due executions and claims, in one pipeline: 1 round trip, 1 commit, 1 to 5 statements. More
// round trips: 1 or 2 for finishes that did not find their execution running, 1 for limit keys that were freed. Queues
// with limits are claimed after the commit of the outcomes, and so is a queue in which an outcome that the fast path
// passed over woke a workflow: the round trips of claim_in_groups().
Exchange PostgresStore::exchange_plain(Connection& connection, std::span<const Finish> finishes,
                                       const ClaimRequest* claim, bool& maybe_committed) {
  Exchange exchange;
  FinishBatch batch(finishes, offset_us(), fast_path());
  std::vector<Call> calls = batch.calls();
  const std::size_t claim_at = calls.size() + 1;
  const bool claims = claim != nullptr && claim->limit > 0 && !claim->queues.empty();
  static const bool knows_limited = !base::takes_plain_path("pg-limited-hint");
  const bool with_limits = knows_limited && claims && limited_.contains_any(claim->queues);
  if (claims && !with_limits) {
    calls.push_back(promote_call(*claim, offset_us()));
    calls.push_back(claim_call(*claim, offset_us()));
  }
  std::vector<QueueRef> passed_over;
  if (!calls.empty()) {
    std::vector<Result> results;
    if (claim == nullptr && finishes.size() == 1 && is_plain_guard_end(finishes.front())) {
      results.push_back(connection.call_and_spin(calls.front(), "postgres.exchange.before_commit"));
    } else {
      results = connection.pipeline(calls, "postgres.exchange.before_commit");
    }
    maybe_committed = true;
    connection.fault_point("postgres.exchange.after_commit");
    batch.read(results);
    if (claims && !with_limits) {
      GroupReply group = read_claims(results[claim_at], *claim, connection, queue_ids_);
      exchange.claim = std::move(group.reply);
      passed_over = std::move(group.limited);
    }
    try {
      exchange.verdicts = batch.verdicts(connection);
    } catch (const SqlError&) {
      // The pipeline is committed. The caller repeats the outcomes; a beat releases what was claimed.
      leave_fast_path();
      unpark(connection, batch.freed());
      throw;
    }
    if (batch.left_fast_path()) { leave_fast_path(); }
    vacuum_.ended(std::ssize(finishes));
    std::set<QueueRef> woken;
    add_names(connection, batch.woken(), woken);
    if (!woken.empty()) { look_for_waiters(); }
    exchange.woken.assign(woken.begin(), woken.end());
    unpark(connection, batch.freed());
    if (claims && !with_limits && batch.woke_late()) {
      std::vector<QueueRef> again;
      std::ranges::copy_if(claim->queues, std::back_inserter(again), [&](const QueueRef& queue) {
        return woken.contains(queue) && std::ranges::find(passed_over, queue) == passed_over.end();
      });
      if (!again.empty()) { claim_more(connection, *claim, again, exchange.claim); }
    }
  }
  if (claim != nullptr && with_limits) {
    exchange.claim = claim_in_groups(claim_work(connection), *claim);
    connection.fault_point("postgres.exchange.after_commit");
  } else if (claim != nullptr && !passed_over.empty()) {
    for (const QueueRef& queue : passed_over) { limited_.add(queue); }
    claim_more(connection, *claim, passed_over, exchange.claim);
  }
  return exchange;
}

std::int64_t PostgresStore::steady_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

FinishBatch::FastPath PostgresStore::fast_path() const {
  static const bool assumes_no_waiters = !base::takes_plain_path("pg-finish-plain");
  static const bool assumes_all_plain = !base::takes_plain_path("pg-complete-all");
  const std::int64_t now = steady_seconds();
  if (!assumes_no_waiters || now < waiters_until_.load(std::memory_order_relaxed)) {
    return FinishBatch::FastPath::none;
  }
  return assumes_all_plain && now >= mixed_until_.load(std::memory_order_relaxed) ? FinishBatch::FastPath::all_are_plain
                                                                                  : FinishBatch::FastPath::nobody_waits;
}

void PostgresStore::leave_fast_path() {
  if (fast_path() == FinishBatch::FastPath::all_are_plain) {
    mixed_until_.store(steady_seconds() + std::chrono::seconds(fast_path_left_for).count(), std::memory_order_relaxed);
  } else {
    look_for_waiters();
  }
}

void PostgresStore::look_for_waiters() {
  waiters_until_.store(steady_seconds() + std::chrono::seconds(fast_path_left_for).count(), std::memory_order_relaxed);
}

void PostgresStore::add_names(Connection& connection, const std::set<std::int32_t>& queues, std::set<QueueRef>& names) {
  for (const std::int32_t queue : queues) { names.insert(queue_ids_.name(connection, queue)); }
}

// Claims more from these queues: queues with limits that LimitedQueues did not know yet, and queues in which the
// outcomes woke a workflow after the claim.
void PostgresStore::claim_more(Connection& connection, const ClaimRequest& claim, const std::vector<QueueRef>& queues,
                               ClaimReply& reply) {
  ClaimRequest rest = claim;
  rest.queues = queues;
  rest.limit -= static_cast<int>(reply.claims.size());
  rest.alone = claim.alone && reply.claims.empty();
  const bool is_suspect = claim.alone && !reply.claims.empty() && reply.claims.front().lost > 0;
  if (rest.limit <= 0 || is_suspect) { return; }
  const auto add_input = [](std::size_t sum, const Claim& one) { return sum + one.input.size(); };
  if (std::accumulate(reply.claims.begin(), reply.claims.end(), std::size_t{0}, add_input) >= limits::claim_bytes) {
    reply.next_due = Duration{0};  // the next claim takes the rest
    return;
  }
  ClaimReply more = claim_in_groups(claim_work(connection), rest);
  for (Claim& one : more.claims) { reply.claims.push_back(std::move(one)); }
  reply.suspects_due = reply.suspects_due || (more.suspects_due && !claim.alone);
  if (more.next_due) { reply.next_due = reply.next_due ? std::min(*reply.next_due, *more.next_due) : more.next_due; }
  const bool got_suspect = rest.alone && !reply.claims.empty() && reply.claims.front().lost > 0;
  if (std::ssize(reply.claims) >= claim.limit || got_suspect) { reply.next_due.reset(); }
}

ClaimWork PostgresStore::claim_work(Connection& connection) {
  return {
      .connection = connection, .queues = queue_ids_, .limited = limited_, .looks = looks_, .offset_us = offset_us()};
}

// 1 round trip. Two simultaneous claims of one session may both find that it holds nothing; then a suspect may run
// beside another execution. So a worker should not send two claims at once.
std::optional<ClaimRequest> PostgresStore::with_holdings(const ClaimRequest& claim) {
  return read([&](Connection& connection) -> std::optional<ClaimRequest> {
    const Result result = connection.query(holdings_statement, Params().uuid(claim.session));
    RowReader reader(result, 0);
    ClaimRequest known = claim;
    known.by_holdings = false;
    known.alone = reader.int8() == 0;
    if (reader.int8() > 0) { return std::nullopt; }
    return known;
  });
}

// Claims and outcomes of large batches go side by side on two connections, as each costs a server process about the
// same and neither needs the other: 2 commits instead of 1, in little more than half the time (decision 13). A failed
// half leaves what a lost answer leaves: finishes are repeated, and rows claimed in vain are released by the next beat.
// Queues with limits are excluded, as their claim must see what the outcomes freed.
Exchange PostgresStore::exchange(std::span<const Finish> finishes, const ClaimRequest* claim) {
  check_not_lending();
  if (claim != nullptr && claim->by_holdings) {
    const std::optional<ClaimRequest> known = with_holdings(*claim);
    Exchange made = exchange(finishes, known ? &*known : nullptr);
    if (!known) { made.claim.suspects_due = true; }
    return made;
  }
  static const bool splits = !base::takes_plain_path("pg-exchange-split");
  const bool large = splits && claim != nullptr && claim->limit >= side_by_side && std::ssize(finishes) >= side_by_side;
  if (!large || settings_.pool < 2 || limited_.contains_any(claim->queues)) {
    return exchange_together(finishes, claim);
  }
  std::future<Exchange> claims =
      std::async(std::launch::async, [&] { return exchange_together(std::span<const Finish>(), claim); });
  Exchange exchange = exchange_together(finishes, nullptr);
  exchange.claim = claims.get().claim;
  return exchange;
}

// After a lost answer, rows under the claim's number prove that the transaction was committed. Then only the verdicts
// are requested again, as a repeated finish changes nothing. Without such rows everything is done again: finishes that
// were kept answer as before, and rows that a late commit still claims are released by a beat that does not know them.
Exchange PostgresStore::exchange_together(std::span<const Finish> finishes, const ClaimRequest* claim) {
  bool maybe_committed = false;
  Stepped stepped;
  const auto begun = std::chrono::steady_clock::now();
  for (int attempt = 1;; ++attempt) {
    try {
      const Pool::Lease lease = maybe_committed ? acquire_to_read_back() : pool_.acquire();
      if (maybe_committed && claim != nullptr) {
        ClaimReply reply = read_back_claims(*lease, *claim, queue_ids_, offset_us());
        if (!reply.claims.empty()) {
          Exchange exchange = exchange_once(*lease, finishes, nullptr, stepped, maybe_committed);
          exchange.claim = std::move(reply);
          return exchange;
        }
      }
      return exchange_once(*lease, finishes, claim, stepped, maybe_committed);
    } catch (const SqlError& error) {
      if (error.is_unique_violation() && !stepped.all) {
        // A turn's position is taken, and nothing was kept. The repetition goes by steps, which find the turn.
        stepped.all = true;
        continue;
      }
      if (error.is_lock_timeout()) {
        throw Blocked(settings_.location + ": another open transaction has the row of one of the outcomes");
      }
      if (!may_repeat(error, attempt)) {
        throw_mapped(error, settings_.location, finishes.empty() ? Doing::reading : Doing::storing);
      }
    } catch (const ConnectionBroken& broken) {
      maybe_committed = true;
      if (!may_reconnect(attempt, begun)) {
        throw CommitUnknown(settings_.location + ": " + broken.what() +
                            "; whether the outcomes were kept is not known");
      }
    }
    back_off(attempt);
  }
}

}  // namespace hapax::store::postgres
