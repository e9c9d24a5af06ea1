#include "store/postgres/turn.hpp"

#include "base/plain_path.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/postgres_store.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

// The row locks keep the runs from being lost or finished until the entries are committed. OFFSET 0 and `+ 0` make the
// planner look up each run by its id. Otherwise it may scan all running rows, which seem few while the table is empty.
constexpr std::string_view advance_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
run AS MATERIALIZED (
  SELECT r.id, u.place FROM unnest($2::int[], $3::uuid[], $4::bigint[]) u(place, id, fence)
  CROSS JOIN LATERAL (
    SELECT l.id FROM {s}.live l WHERE l.id = u.id AND l.fence = u.fence AND l.state + 0 = 1
    OFFSET 0 FOR NO KEY UPDATE) r),
kept AS ({entries})
SELECT run.place, t.now FROM run CROSS JOIN t)";

const Statement& advance_statement() {
  static const Statement& statement =
      made_statement("hapax_advance", fill(advance_text, {{"{entries}", append_sql(5, "run")}}));
  return statement;
}

// All entries are appended or none, as the second column says.
constexpr std::string_view advance_all_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
run AS MATERIALIZED (
  SELECT count(*) = cardinality($2::uuid[]) AS all_hold FROM unnest($2::uuid[], $3::bigint[]) u(id, fence)
  CROSS JOIN LATERAL (
    SELECT FROM {s}.live l WHERE l.id = u.id AND l.fence = u.fence AND l.state + 0 = 1
    OFFSET 0 FOR NO KEY UPDATE) r),
kept AS ({entries})
SELECT t.now, run.all_hold FROM t CROSS JOIN run)";

const Statement& advance_all_statement() {
  static const Statement& statement = made_statement(
      "hapax_advance_all", fill(advance_all_text, {{"{entries}", append_six_sql(4, "(SELECT all_hold FROM run)")}}));
  return statement;
}

constexpr Statement clear_lost{"hapax_clear_lost", R"(
UPDATE {s}.live l SET lost = 0 FROM unnest($1::uuid[], $2::bigint[]) u(id, fence)
WHERE l.id = ANY (ARRAY[u.id]) AND l.fence = u.fence AND l.state + 0 = 1 AND l.lost > 0)"};

}  // namespace

AdvanceBatch::AdvanceBatch(std::span<const Advance> turns) : turns_(turns), barred_(turns.size(), false) {
  order_.reserve(turns.size());
  for (std::size_t i = 0; i < turns.size(); ++i) { order_.push_back(i); }
  std::sort(order_.begin(), order_.end(),
            [&](std::size_t a, std::size_t b) { return turns[a].execution < turns[b].execution; });
}

std::vector<Call> AdvanceBatch::calls(const Children& children, std::int64_t offset_us) const {
  Array places(Type::int4), ids(Type::uuid), fences(Type::int8), forgiven(Type::uuid), forgiven_fences(Type::int8);
  EntryArrays entries;
  bool clears = false;
  for (const std::size_t i : order_) {
    const Advance& turn = turns_[i];
    if (barred_[i]) { continue; }
    places.int4(static_cast<std::int32_t>(i));
    ids.uuid(turn.execution);
    fences.int8(turn.fence);
    entries.add(turn.execution, turn.fence, turn.entries, children);
    if (turn.clears_lost) {
      forgiven.uuid(turn.execution);
      forgiven_fences.int8(turn.fence);
      clears = true;
    }
  }
  Params params;
  params.int8(offset_us).array(std::move(places)).array(std::move(ids)).array(std::move(fences));
  entries.append_to(params);
  std::vector<Call> calls;
  calls.push_back({&advance_statement(), std::move(params)});
  if (clears) { calls.push_back({&clear_lost, Params().array(std::move(forgiven)).array(std::move(forgiven_fences))}); }
  return calls;
}

std::optional<Call> AdvanceBatch::call_of_all(std::int64_t offset_us) const {
  const bool plain = std::all_of(turns_.begin(), turns_.end(), [](const Advance& turn) { return !turn.clears_lost; });
  if (!plain) { return std::nullopt; }
  Array ids(Type::uuid, turns_.size()), fences(Type::int8, turns_.size());
  EntryArrays entries(turns_.size());
  for (const std::size_t i : order_) {
    ids.uuid(turns_[i].execution);
    fences.int8(turns_[i].fence);
    entries.add(turns_[i].execution, turns_[i].fence, turns_[i].entries, {});
  }
  Params params;
  params.int8(offset_us).array(std::move(ids)).array(std::move(fences));
  entries.append_six_to(params);
  return Call{&advance_all_statement(), std::move(params)};
}

bool AdvanceBatch::read_all(const Result& result, std::vector<AdvanceReply>& replies) {
  RowReader reader(result, 0);
  const Time at = reader.time();
  if (!reader.boolean()) { return false; }
  for (AdvanceReply& reply : replies) { reply = {.verdict = FinishVerdict::accepted, .at = at}; }
  return true;
}

void AdvanceBatch::read(const Result& result, std::vector<AdvanceReply>& replies) {
  for (RowReader reader : result) {
    const auto place = static_cast<std::size_t>(reader.int4());
    replies[place] = {.verdict = FinishVerdict::accepted, .at = reader.time()};
  }
}

namespace {

bool starts(const Advance& turn) {
  return std::any_of(turn.entries.begin(), turn.entries.end(),
                     [](const JournalEntry& entry) { return entry.start != nullptr; });
}

}  // namespace

// 1 round trip when nothing is started, else those of advance_by_steps(). A turn whose lease is gone costs a second
// round trip for the batch, and a turn whose positions are taken makes the whole batch go by steps.
std::vector<AdvanceReply> PostgresStore::advance(std::span<const Advance> turns) {
  if (turns.empty()) { return {}; }
  static const bool appends_all = !base::takes_plain_path("pg-turn-append");
  bool stepwise = std::any_of(turns.begin(), turns.end(), starts);
  bool one_is_stale = false;
  bool asked_before = false;
  return run([&](Connection& connection) {
    const bool again = std::exchange(asked_before, true);
    if (appends_all && !stepwise && !one_is_stale) {
      const AdvanceBatch batch(turns);
      const std::optional<Call> all = batch.call_of_all(offset_us());
      try {
        if (all) {
          std::vector<AdvanceReply> replies(turns.size());
          if (AdvanceBatch::read_all(connection.pipeline({&*all, 1}).front(), replies)) {
            connection.fault_point("postgres.advance.after_commit");
            return replies;
          }
          one_is_stale = true;
        }
      } catch (const SqlError& error) {
        stepwise = error.is_unique_violation();
        if (!stepwise) { throw; }
      }
    }
    if (!stepwise) {
      try {
        std::vector<AdvanceReply> replies(turns.size());
        AdvanceBatch::read(connection.pipeline(AdvanceBatch(turns).calls({}, offset_us())).front(), replies);
        connection.fault_point("postgres.advance.after_commit");
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
  connection.fault_point("postgres.advance.after_commit");
  unpark(connection, freed);
  return replies;
}

// Takes the steps of advance_by_steps(), and writes the outcomes of the runs.
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
    connection.fault_point("postgres.exchange.after_commit");
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
