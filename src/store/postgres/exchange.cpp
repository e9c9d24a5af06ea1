#include "store/postgres/claim.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/postgres_store.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"

#include <future>

namespace hapax::store::postgres {

namespace {

constexpr int side_by_side = 128;

}  // namespace

// Outcomes, the promotion of what is due and the next claim in one pipeline: 1 round trip, 1 commit, 1 to 4 statements.
// A second round trip only for finishes that did not find their execution running.
Exchange PostgresStore::exchange_once(Connection& connection, std::span<const Finish> finishes,
                                      const ClaimRequest* claim, bool& maybe_committed) {
  Exchange exchange;
  FinishBatch batch(finishes, offset_us());
  std::vector<Call> calls = batch.calls();
  const std::size_t claim_at = calls.size() + 1;
  const bool claims = claim != nullptr && claim->limit > 0 && !claim->queues.empty();
  if (claims) {
    calls.push_back(promote_call(*claim, offset_us()));
    calls.push_back(claim_call(*claim, offset_us()));
  }
  if (calls.empty()) { return exchange; }
  const std::vector<Result> results = connection.pipeline(calls, "postgres.exchange.before_commit");
  maybe_committed = true;
  try {
    base::fault_point("postgres.exchange.after_commit");
  } catch (const base::FaultInjected& fault) { connection.fail(fault.what()); }
  batch.read(results);
  if (claims) { exchange.claim = read_claims(results[claim_at], *claim, connection, queue_ids_); }
  exchange.verdicts = batch.verdicts(connection);
  vacuum_.ended(std::ssize(finishes));
  return exchange;
}

// Large batches go side by side on two connections, as a claim and an outcome cost a server process about the same and
// neither needs the other: 2 commits in place of 1, in a good half of the time. What a failed half leaves behind is what
// a lost answer leaves: finishes are repeated, and rows claimed in vain are released by the next beat.
Exchange PostgresStore::exchange(std::span<const Finish> finishes, const ClaimRequest* claim) {
  const bool large = claim != nullptr && claim->limit >= side_by_side && std::ssize(finishes) >= side_by_side;
  if (!large || settings_.pool < 2) { return exchange_together(finishes, claim); }
  std::future<Exchange> claims =
      std::async(std::launch::async, [&] { return exchange_together(std::span<const Finish>(), claim); });
  Exchange exchange = exchange_together(finishes, nullptr);
  exchange.claim = claims.get().claim;
  return exchange;
}

// After a lost answer: rows under the claim's number say that the transaction was committed; then only the verdicts are
// asked for again, as a repeated finish changes nothing. Without such rows the whole is done again: finishes that were
// kept answer as before, and rows that a late commit may still claim are released by a beat that does not know them.
Exchange PostgresStore::exchange_together(std::span<const Finish> finishes, const ClaimRequest* claim) {
  bool maybe_committed = false;
  for (int attempt = 1;; ++attempt) {
    try {
      const Pool::Lease lease = maybe_committed ? acquire_to_read_back() : pool_.acquire();
      if (maybe_committed && claim != nullptr) {
        ClaimReply reply = read_back_claims(*lease, *claim, queue_ids_, offset_us());
        if (!reply.claims.empty()) {
          Exchange exchange = exchange_once(*lease, finishes, nullptr, maybe_committed);
          exchange.claim = std::move(reply);
          return exchange;
        }
      }
      return exchange_once(*lease, finishes, claim, maybe_committed);
    } catch (const SqlError& error) {
      if (error.is_lock_timeout()) {
        throw Blocked(settings_.location + ": another open transaction has the row of one of the outcomes");
      }
      if (!error.is_transient() || attempt >= transient_attempts) { throw_mapped(error, settings_.location); }
    } catch (const ConnectionBroken& broken) {
      maybe_committed = true;
      if (attempt >= lost_attempts) {
        throw CommitUnknown(settings_.location + ": " + broken.what() +
                            "; whether the outcomes were kept is not known");
      }
      connection_lost(broken, attempt);
    }
    back_off(attempt);
  }
}

}  // namespace hapax::store::postgres
