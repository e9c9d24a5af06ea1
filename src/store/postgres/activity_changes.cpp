#include "store/postgres/activity_batch.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/transaction_guard.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"

namespace hapax::store::postgres {

namespace {

// How long to wait for any lock: another ticker's, or that of a caller's open transaction which has one of the runs.
constexpr Duration patience = std::chrono::seconds(5);

constexpr Statement transaction_number{"hapax_activity_transaction", "SELECT pg_current_xact_id()::text"};
constexpr Statement transaction_status{"hapax_activity_status", "SELECT pg_xact_status($1::text::xid8)"};
// A server that crashed may reuse the id of a transaction it lost. So the raised revision is checked as well.
constexpr Statement is_raised{"hapax_activity_raised", R"(
SELECT $1::text IS NULL OR EXISTS (
  SELECT FROM {s}.activities WHERE ns = $1::text AND id = $2::text AND revision >= $3::bigint))"};

void lose_reply(Connection& connection) {
  try {
    base::fault_point("postgres.activities.after_commit");
  } catch (const base::FaultInjected& fault) { connection.fail(fault.what()); }
}

Items items_of(std::span<const ActivityChange> changes) {
  Items items;
  for (const ActivityChange& change : changes) {
    for (const NewExecution& item : change.admit) { items.push_back(&item); }
  }
  return items;
}

// Admits the items that depend on no other item, and then the dependants of runs that were created.
std::vector<Admission> admit_runs(const AdmissionWork& work, const Items& items) {
  const std::vector<std::optional<std::size_t>> of = dependants(items);
  std::vector<Admission> admissions(items.size());
  for (const bool dependent : {false, true}) {
    Items now;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (of[i].has_value() != dependent) { continue; }
      if (dependent && !admissions[*of[i]].created()) {
        admissions[i] = admissions[*of[i]];
      } else {
        now.push_back(items[i]);
        places.push_back(i);
      }
    }
    if (now.empty()) { continue; }
    std::vector<Admission> answers = admit_in_transaction(work, now);
    for (std::size_t n = 0; n < places.size(); ++n) { admissions[places[n]] = std::move(answers[n]); }
  }
  return admissions;
}

Params raised_params(const std::optional<ActivityBatch::Raised>& raised) {
  if (!raised) { return std::move(Params().null(Type::text).null(Type::text).null(Type::int8)); }
  return std::move(Params().text(raised->change->ns).text(raised->change->id).int8(raised->revision));
}

}  // namespace

// Begin and lock, admit, write and commit: 7 statements in 3 round trips for a span of ticks whose runs are new,
// however many. One more statement when an activity may be new. More round trips: 1 for task instances, 1 to number two
// or more runs with limit keys, 4 when runs exist already, 1 to 4 to stop other runs, 1 for limit keys that were freed.
// 2 when nothing is applied.
std::vector<ActivityReply> PostgresStore::change_once(Connection& connection, std::span<const ActivityChange> changes,
                                                      std::optional<SentChange>& sent) {
  ensure_queues(connection, items_of(changes));
  FreedKeys freed;
  ActivityBatch batch(changes, offset_us());
  {
    TransactionGuard guard(connection, TransactionGuard::Pipelined());
    std::vector<Call> calls;
    calls.push_back(TransactionGuard::begin_call());
    calls.push_back(lock_patience(patience));
    calls.push_back({&transaction_number, Params()});
    for (Call& call : batch.lock_calls()) { calls.push_back(std::move(call)); }
    const std::vector<Result> locked = connection.pipeline(calls);
    batch.read(locked.back());
    if (!batch.applies()) { return batch.replies(); }
    if (const Items items = batch.items(); !items.empty()) {
      batch.count(admit_runs({.connection = connection, .queues = queue_ids_, .offset_us = offset_us(), .freed = freed},
                             items));
    }
    const StopRequest stops = batch.stops();
    if (!stops.cancel.empty() || !stops.terminate.empty()) {
      static_cast<void>(stop(connection, stops, offset_us(), freed));
    }
    sent = SentChange{.transaction = RowReader(locked[2], 0).bytes(),
                      .raised = raised_params(batch.raised()),
                      .replies = batch.replies()};
    calls.clear();
    calls.push_back(batch.write_call());
    calls.push_back(TransactionGuard::commit_call());
    connection.pipeline(calls, "postgres.activities.before_commit");
    guard.committed();
    lose_reply(connection);
  }
  unpark(connection, freed);
  return batch.replies();
}

// After a lost answer, asks the server for the transaction's status. The transaction may still be in progress.
bool PostgresStore::was_committed(const SentChange& sent) {
  const auto deadline = std::chrono::steady_clock::now() + settings_.read_back_patience();
  std::string trouble = "it is still under way";
  for (int attempt = 1;; ++attempt) {
    try {
      const Pool::Lease lease = acquire_to_read_back();
      const std::vector<Call> calls{{&transaction_status, Params().text(sent.transaction)}, {&is_raised, sent.raised}};
      const std::vector<Result> results = lease->pipeline(calls);
      const std::string status = RowReader(results[0], 0).bytes();
      if (status != "in progress") { return status == "committed" && RowReader(results[1], 0).boolean(); }
    } catch (const ConnectionBroken& broken) {
      pool_.drop_idle();
      trouble = broken.what();
    } catch (const SqlError& error) { trouble = error.what(); }
    if (std::chrono::steady_clock::now() >= deadline) {
      throw CommitUnknown(settings_.location +
                          ": the connection broke at commit, and whether it was kept is not known: " + trouble);
    }
    back_off(attempt);
  }
}

std::vector<ActivityReply> PostgresStore::change_activities(std::span<const ActivityChange> changes) {
  check_not_lending();
  if (changes.empty()) { return {}; }
  const auto begun = std::chrono::steady_clock::now();
  for (int attempt = 1;; ++attempt) {
    std::optional<SentChange> sent;
    try {
      const Pool::Lease lease = pool_.acquire();
      return change_once(*lease, changes, sent);
    } catch (const SqlError& error) {
      // A unique violation means that another transaction took the name of one of the runs meanwhile.
      const bool renamed = error.is_unique_violation() && attempt < transient_attempts;
      if (!renamed && !may_repeat(error, attempt)) { throw_mapped(error, settings_.location); }
    } catch (const ConnectionBroken& broken) {
      if (sent) {
        pool_.drop_idle();
        if (was_committed(*sent)) { return std::move(sent->replies); }
      }
      if (!may_reconnect(attempt, begun)) { throw StoreUnavailable(settings_.location + ": " + broken.what()); }
    }
    back_off(attempt);
  }
}

}  // namespace hapax::store::postgres
