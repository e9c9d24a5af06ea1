// How executions leave `live` or become pending again: the statements behind finish, cancel, purge and sweep.
#pragma once

#include "model/execution.hpp"
#include "model/turn.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/journal.hpp"
#include "store/postgres/park.hpp"
#include "store/postgres/statement.hpp"
#include "store/postgres/turn.hpp"

#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace hapax::store::postgres {

// An execution that ends: its row moves from live to history.
struct Ending {
  Uuid id;
  std::int64_t fence = -1;                   // below zero: any fence, running or not
  std::optional<Status> status;              // none: ends only if its cancellation was requested, as cancelled
  std::optional<model::FinishKind> left_by;  // set by a worker's finish
  std::optional<std::string> result;
  std::optional<std::string> error;  // encoded; a cancelled one without it gets the canceller's reason
  std::optional<Duration> ran_for;   // none: the attempt began at its claim
  std::optional<Uuid> continued_as;  // the next run, which exists and has taken over the waiters
  std::optional<model::Keep> keep;   // of a guard; none: as its queue's retention says
};

// Options of a batch of endings.
struct EndingBatch {
  // True: the statement sends `ended` events to waiting workflows. False selects a cheaper statement for executions
  // that have no waiters and are not continued. Executions with waiters are not found.
  bool tells = true;
  std::vector<Uuid> later;  // rows that the same transaction changes later (inbox.hpp)
  EntryArrays entries;      // journal entries, written only for executions that end
};

// One statement that ends executions and, if the batch tells, sends an event to each waiter. Returns (id, queue, limit
// key and, if the batch tells, the queues in which a waiter became due) for each that ended. The caller passes the ids
// sorted, so that locks are taken in order.
[[nodiscard]] Call end_call(const std::vector<Ending>& endings, std::int64_t offset_us, EndingBatch batch = {});

// One statement for executions that all complete, each running under its fence, without waiters and limit key, as most
// do. Sends no events. Returns NULL when all have ended, else the ids of the ended ones; for the others an assumption
// is wrong.
[[nodiscard]] Call complete_all_call(const std::vector<Ending>& endings, std::int64_t offset_us, EntryArrays entries);

// Whether the finish completes a guard with a retention of its own, as end_guard_call() requires.
[[nodiscard]] bool is_plain_guard_end(const model::Finish& finish);
// Ends one guard by a statement without arrays, which returns the columns of end_call(). A guard with waiters is not
// found.
[[nodiscard]] Call end_guard_call(const model::Finish& finish, std::int64_t offset_us);

enum class BackInLine : std::int16_t {
  retry = 4,  // values of FinishKind, where one exists
  snoozed = 5,
  released = 6,
  forgotten = -1,  // released by a beat or by the session's end
  lost = -2,
};

// A running execution that becomes pending again.
struct Waiting {
  Uuid id;
  std::int64_t fence = 0;
  BackInLine why = BackInLine::released;
  std::optional<std::string> error;  // encoded, retry
  Duration delay{0};                 // retry, snoozed
  Duration ran_for{0};               // retry, snoozed
};

// Returns (id, lost, max_lost, to be cancelled, queue, limit key) for each that became pending. A task whose
// cancellation was requested is left unchanged, for the caller to end, unless it was lost. Entries are written only for
// those that became pending.
[[nodiscard]] Call wait_call(const std::vector<Waiting>& waiting, std::int64_t offset_us, EntryArrays entries = {});

// A workflow that waits for events.
struct Pause {
  Uuid id;
  std::int64_t fence = 0;
  const model::Turn* turn = nullptr;
};

// Returns the columns of wait_call(), with "due at once" in place of "to be cancelled". Events that the run has not
// seen are looked for under the row's lock.
[[nodiscard]] Call pause_call(const std::vector<Pause>& pauses, std::int64_t offset_us, EntryArrays entries = {});

// In microseconds. A record that is kept for ever gets a value far beyond any record's expiry.
[[nodiscard]] std::int64_t keep_us(const model::Keep& keep);

// {"Cancelled", reason}, encoded.
[[nodiscard]] std::string cancelled_error(std::string_view reason);

// ---- A batch of outcomes --------------------------------------------------------------------------------------------

// The turns of finishes. Each finish must have one.
[[nodiscard]] std::vector<TurnItem> turn_items(std::span<const model::Finish> finishes);

// Used in three steps: calls() for a pipeline, read() for its results, verdicts(). One thread, one batch.
//
// The statements that change the executions append the entries of their turns. A taken position is a unique violation,
// unless TurnSteps found it before and the finish was barred. Whatever the entries start was admitted before.
class FinishBatch {
 public:
  // The special cases that the batch is assumed not to have. Cheaper statements do not find the executions for which
  // the assumption is wrong; verdicts() ends these.
  enum class FastPath : std::uint8_t {
    none,           // no assumption: waiters get their events
    nobody_waits,   // no execution has a waiter
    all_are_plain,  // if all complete: each runs under its fence, without limit key and waiters
  };
  FinishBatch(std::span<const model::Finish> finishes, std::int64_t offset_us, FastPath fast_path = FastPath::none);

  // At most three statements: executions that end, that become pending again, and workflows that wait for events.
  [[nodiscard]] std::vector<Call> calls();
  // steps.calls() followed by calls(). Call after steps.start(), with TurnSteps made from turn_items() of the same
  // finishes. A turn that may not proceed is answered as stale, unless it is a repeated one.
  [[nodiscard]] std::vector<Call> calls_after(TurnSteps& steps);
  [[nodiscard]] std::size_t calls_count() const { return calls_; }
  // `results` begins with the results of calls().
  void read(std::span<const Result> results);
  // One verdict for each finish, in order. 1 or 2 more round trips if a finish did not find its execution running: an
  // outcome that is already recorded under that fence is accepted again; an execution whose cancellation was requested
  // meanwhile ends now, and so does one that the fast path passed over.
  [[nodiscard]] std::vector<model::FinishVerdict> verdicts(Connection& connection);
  // Whether verdicts() ended an execution that the fast path had passed over.
  [[nodiscard]] bool left_fast_path() const { return left_fast_path_; }
  // Limit keys that the outcomes freed. Complete after verdicts().
  [[nodiscard]] const FreedKeys& freed() const { return freed_; }
  // Queues in which a waiting workflow became due.
  [[nodiscard]] const std::set<std::int32_t>& woken() const { return woken_; }
  // Whether verdicts() has ended executions whose end woke a workflow: a claim in the same pipeline came too early for
  // it.
  [[nodiscard]] bool woke_late() const { return woke_late_; }

 private:
  // Returns whether an end woke a queue.
  bool read_ended(const Result& result);
  void read_paused(const Result& result);
  void end_open(Connection& connection);
  void settle_open(Connection& connection);

  const Children no_children_;
  const Children* children_ = &no_children_;
  std::span<const model::Finish> finishes_;
  std::int64_t offset_us_;
  std::vector<std::size_t> order_;  // by id, the order in which rows are locked
  std::vector<bool> accepted_;
  std::vector<bool> barred_;
  FastPath fast_path_;
  bool left_fast_path_ = false;
  bool woke_late_ = false;
  bool all_complete_ = false;  // calls() is the one statement of complete_all_call
  bool ends_ = false;          // the first of calls() ends executions
  bool pauses_ = false;        // the last of calls() is that of waiting workflows
  std::size_t calls_ = 0;      // how many calls() returned
  std::set<std::int32_t> woken_;
  FreedKeys freed_;
  std::unordered_map<Uuid, std::size_t> index_;  // of the first finish of each id
};

}  // namespace hapax::store::postgres
