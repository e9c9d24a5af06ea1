// Turns with more than entries to append, step by step in the open transaction of a connection: what they start is
// admitted, what they meet is waited for, and a run goes on as the next.
#pragma once

#include "store/postgres/admission.hpp"
#include "store/postgres/entries.hpp"

#include <deque>
#include <set>
#include <vector>

namespace hapax::store::postgres {

// A run that wants to append.
struct TurnItem {
  Uuid execution;
  std::int64_t fence = 0;
  const std::vector<model::JournalEntry>* entries = nullptr;
  const model::Turn* continued = nullptr;  // of a finish that continues
};

// Used in this order: lock_calls(), read_locks(), start(), calls(), read(). In between the caller may bar turns, and
// appends the entries of the others with children() behind calls(). One thread, one transaction.
class TurnSteps {
 public:
  // Executions are distinct. All queues of starts and next runs are known, and marked if they get limit keys.
  TurnSteps(const AdmissionWork& work, std::vector<TurnItem> items);

  // What the items need of admission, to be made known before the transaction.
  [[nodiscard]] static Items started_by(const std::vector<TurnItem>& items);

  // Two or three statements: identities of those that continue, the runs by id, and which positions are taken.
  [[nodiscard]] std::vector<Call> lock_calls();
  void read_locks(std::span<const Result> results);

  // Whether it runs under its fence and none of its positions is taken.
  [[nodiscard]] bool goes(std::size_t index) const;
  // When all of its entries are there under its fence just as they were sent: since when.
  [[nodiscard]] std::optional<Time> kept_since(std::size_t index) const;

  // Admits what those that go start: the round trips of admit_in_transaction, and two for each link of a chain when what
  // was met has ended.
  void start();
  // Up to five statements: waiters, events, identities, next runs, and what is carried over to them.
  [[nodiscard]] std::vector<Call> calls();
  [[nodiscard]] const Children& children() const { return children_; }
  // Queues that got something that is due, or will be.
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
    std::size_t place = 0;  // among its turn's
  };

  void meet(const model::Admission& admission, const TurnItem& item, const model::JournalEntry& entry);
  // Those that have ended tell so; one that was continued is looked for at its next run.
  void settle_ended();
  void refuse_expired(const Meeting& meeting);
  [[nodiscard]] Call wait_call() const;
  void add_next_runs(std::vector<Call>& calls);

  const AdmissionWork& work_;
  const std::vector<TurnItem> items_;
  std::vector<bool> runs_;
  std::vector<bool> taken_;
  std::vector<bool> holds_;  // its identity, by the row
  std::vector<Kept> kept_;
  bool continues_ = false;
  std::vector<Meeting> waiters_;
  std::vector<Meeting> ended_;
  std::vector<model::Event> events_;
  std::deque<model::NewExecution> next_;
  Children children_;
  std::set<model::QueueRef> woken_;
};

}  // namespace hapax::store::postgres
