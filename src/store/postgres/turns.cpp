#include "store/postgres/advance.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/transaction_guard.hpp"
#include "store/postgres/turn_steps.hpp"

#include "base/fault.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

bool starts(const Advance& turn) {
  return std::any_of(turn.entries.begin(), turn.entries.end(),
                     [](const JournalEntry& entry) { return entry.start != nullptr; });
}

void lose_reply(Connection& connection, const char* fault_name) {
  try {
    base::fault_point(fault_name);
  } catch (const base::FaultInjected& fault) { connection.fail(fault.what()); }
}

}  // namespace

// 1 round trip when nothing is started, else those of advance_by_steps(). A turn whose lease is gone costs a second
// round trip for the batch, and a turn whose positions are taken makes the whole batch go by steps.
std::vector<AdvanceReply> PostgresStore::advance(std::span<const Advance> turns) {
  if (turns.empty()) { return {}; }
  bool stepwise = std::any_of(turns.begin(), turns.end(), starts);
  bool one_is_stale = false;
  bool asked_before = false;
  return run([&](Connection& connection) {
    const bool again = std::exchange(asked_before, true);
    if (!stepwise && !one_is_stale) {
      const AdvanceBatch batch(turns);
      const std::optional<Call> all = batch.call_of_all(offset_us());
      try {
        if (all) {
          std::vector<AdvanceReply> replies(turns.size());
          AdvanceBatch::read_all(connection.pipeline({&*all, 1}).front(), replies);
          lose_reply(connection, "postgres.advance.after_commit");
          return replies;
        }
      } catch (const SqlError& error) {
        stepwise = error.is_unique_violation();
        one_is_stale = error.is_division_by_zero();
        if (!stepwise && !one_is_stale) { throw; }
      }
    }
    if (!stepwise) {
      try {
        std::vector<AdvanceReply> replies(turns.size());
        AdvanceBatch::read(connection.pipeline(AdvanceBatch(turns).calls({}, offset_us())).front(), replies);
        lose_reply(connection, "postgres.advance.after_commit");
        return replies;
      } catch (const SqlError& error) {
        if (!error.is_unique_violation()) { throw; }
      }
      stepwise = true;
    }
    return advance_by_steps(connection, turns, again);
  });
}

// Lock, admit, append: 3 round trips or more, as admission needs. `again`: an earlier try's answer may have been lost,
// so entries that are stored exactly as sent are this call's own.
std::vector<AdvanceReply> PostgresStore::advance_by_steps(Connection& connection, std::span<const Advance> turns,
                                                          bool again) {
  std::vector<TurnItem> items;
  for (const Advance& turn : turns) {
    items.push_back({.execution = turn.execution, .fence = turn.fence, .entries = &turn.entries});
  }
  ensure_queues(connection, TurnSteps::started_by(items));
  FreedKeys freed;
  const AdmissionWork work{.connection = connection, .queues = queue_ids_, .offset_us = offset_us(), .freed = freed};
  TurnSteps steps(work, std::move(items));
  std::vector<AdvanceReply> replies(turns.size());
  {
    TransactionGuard guard(connection, TransactionGuard::Pipelined());
    std::vector<Call> calls = steps.lock_calls();
    calls.insert(calls.begin(), TransactionGuard::begin_call());
    const std::vector<Result> locks = connection.pipeline(calls);
    steps.read_locks(std::span(locks).subspan(1));
    AdvanceBatch batch(turns);
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (!steps.goes(i)) { batch.bar(i); }
      if (const auto since = again ? steps.kept_since(i) : std::nullopt) {
        replies[i] = {.verdict = FinishVerdict::accepted, .at = *since};
      }
    }
    steps.start();
    calls = steps.calls();
    const std::size_t at = calls.size();
    for (Call& call : batch.calls(steps.children(), offset_us())) { calls.push_back(std::move(call)); }
    calls.push_back(TransactionGuard::commit_call());
    const std::vector<Result> results = connection.pipeline(calls, "postgres.advance.before_commit");
    guard.committed();
    AdvanceBatch::read(results[at], replies);
  }
  lose_reply(connection, "postgres.advance.after_commit");
  unpark(connection, freed);
  return replies;
}

// The same steps as advance_by_steps(), with the outcomes of the runs.
std::vector<FinishVerdict> PostgresStore::finish_by_steps(Connection& connection, std::span<const Finish> finishes,
                                                          std::set<QueueRef>& woken) {
  std::vector<TurnItem> items = turn_items(finishes);
  ensure_queues(connection, TurnSteps::started_by(items));
  FreedKeys freed;
  const AdmissionWork work{.connection = connection, .queues = queue_ids_, .offset_us = offset_us(), .freed = freed};
  TurnSteps steps(work, std::move(items));
  FinishBatch batch(finishes, offset_us());
  {
    TransactionGuard guard(connection, TransactionGuard::Pipelined());
    std::vector<Call> calls = steps.lock_calls();
    calls.insert(calls.begin(), TransactionGuard::begin_call());
    const std::vector<Result> locks = connection.pipeline(calls);
    steps.read_locks(std::span(locks).subspan(1));
    steps.start();
    calls = batch.calls_after(steps);
    const std::size_t at = calls.size() - batch.calls_count();
    calls.push_back(TransactionGuard::commit_call());
    const std::vector<Result> results = connection.pipeline(calls, "postgres.exchange.before_commit");
    guard.committed();
    lose_reply(connection, "postgres.exchange.after_commit");
    batch.read(std::span(results).subspan(at));
  }
  std::vector<FinishVerdict> verdicts = batch.verdicts(connection);
  woken.insert(steps.woken().begin(), steps.woken().end());
  add_names(connection, batch.woken(), woken);
  unpark(connection, freed);
  unpark(connection, batch.freed());
  return verdicts;
}

}  // namespace hapax::store::postgres
