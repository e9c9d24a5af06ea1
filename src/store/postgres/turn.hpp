// Workflow turns on one connection.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/admit.hpp"
#include "store/postgres/journal.hpp"
#include "store/postgres/queue_table.hpp"
#include "store/postgres/result.hpp"
#include "store/postgres/statement.hpp"

#include <deque>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace hapax::store::postgres {

// A batch of turns that only append journal entries.
class AdvanceBatch {
 public:
  explicit AdvanceBatch(std::span<const model::Advance> turns);

  // Leaves this turn out. Call before calls().
  void bar(std::size_t index) { barred_[index] = true; }
  // 1 or 2 statements: append the entries, and reset `lost` for turns with clears_lost. A taken position is a unique
  // violation.
  [[nodiscard]] std::vector<Call> calls(const Children& children, std::int64_t offset_us) const;
  // One cheaper statement for a batch in which every run holds its fence, no turn starts an execution and none resets
  // `lost`. Returns nothing when a turn resets `lost`. If a run does not hold its fence, nothing is appended and
  // read_all() returns false.
  [[nodiscard]] std::optional<Call> call_of_all(std::int64_t offset_us) const;
  static bool read_all(const Result& result, std::vector<model::AdvanceReply>& replies);
  // Takes the result of the first of calls(). Turns of runs that held their fences are accepted.
  static void read(const Result& result, std::vector<model::AdvanceReply>& replies);

 private:
  std::span<const model::Advance> turns_;
  std::vector<bool> barred_;
  std::vector<std::size_t> order_;  // by id, as rows are locked in that order
};

// ---- Turns that do more than append entries -------------------------------------------------------------------------

// A run that appends to its journal.
struct TurnItem {
  Uuid execution;
  std::int64_t fence = 0;
  const std::vector<model::JournalEntry>* entries = nullptr;
  const model::Turn* continued = nullptr;  // set for a finish that continues as a next run
};

// Used in this order: lock_calls(), read_locks(), start(), calls(). The caller may leave out turns in between, and
// appends the entries of the proceeding ones, with children(), after calls(). One thread, one transaction.
class TurnSteps {
 public:
  // Executions must be distinct. All queues of starts and next runs must be known, and marked if they get limit keys.
  TurnSteps(const AdmissionWork& work, std::vector<TurnItem> items);

  // The executions that the items start, whose queues must be made known before the transaction.
  [[nodiscard]] static Items started_by(const std::vector<TurnItem>& items);

  // Two or three statements: lock the identities of runs that continue, lock the runs by id, and find taken positions.
  [[nodiscard]] std::vector<Call> lock_calls();
  void read_locks(std::span<const Result> results);

  // Whether the turn proceeds: the run holds its fence and none of its positions is taken.
  [[nodiscard]] bool goes(std::size_t index) const;
  // When the turn was stored, if all of its entries are stored under its fence exactly as sent.
  [[nodiscard]] std::optional<Time> kept_since(std::size_t index) const;

  // Admits what the proceeding turns start. Costs the round trips of admit_in_transaction(), and two for each link in a
  // chain of continued runs when an existing execution has ended.
  void start();
  // Up to five statements: waiters, events, identities, next runs, and what the next runs take over.
  [[nodiscard]] std::vector<Call> calls();
  [[nodiscard]] const Children& children() const { return children_; }
  // Queues that got an execution which is due now or later.
  [[nodiscard]] const std::set<model::QueueRef>& woken() const { return woken_; }

 private:
  struct Meeting {
    Uuid awaited;
    Uuid waiter;
    std::int32_t position = 0;
  };
  struct Kept {
    model::JournalEntry entry;
    std::size_t turn = 0;
    std::size_t place = 0;  // index among its turn's entries
  };

  void meet(const model::Admission& admission, const TurnItem& item, const model::JournalEntry& entry);
  // Sends an event for each awaited execution that has ended. A continued one is followed to its next run.
  void settle_ended();
  void refuse_expired(const Meeting& meeting);
  [[nodiscard]] Call wait_call() const;
  void add_next_runs(std::vector<Call>& calls);

  const AdmissionWork& work_;
  const std::vector<TurnItem> items_;
  std::vector<bool> runs_;
  std::vector<bool> taken_;
  std::vector<bool> holds_;  // whether the run holds its identity
  std::vector<Kept> kept_;
  bool continues_ = false;
  std::vector<Meeting> waiters_;
  std::vector<Meeting> ended_;
  std::vector<model::Event> events_;
  std::deque<model::NewExecution> next_;
  Children children_;
  std::set<model::QueueRef> woken_;
};

// A workflow that continues as a new run.
struct NextRun {
  Uuid before;  // locked and still live
  const model::Turn* turn = nullptr;
  const model::NewExecution* item = nullptr;  // from as_next_run()
  bool holds = false;                         // the old run holds its identity, and its row is locked
};

// The request without the fields that the old run's row provides.
[[nodiscard]] model::NewExecution as_next_run(const model::NewExecution& next);

// Two or three statements, however many runs: identities are repointed, rows inserted (also into draining queues, as
// they are no new work), and signals, waiters and the rest carried over.
void add_next_run_calls(std::vector<Call>& calls, const std::vector<NextRun>& runs, const QueueIds& queues,
                        std::int64_t offset_us);

}  // namespace hapax::store::postgres
