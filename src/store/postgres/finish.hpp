// A batch of outcomes on one connection.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/endings.hpp"
#include "store/postgres/parking.hpp"
#include "store/postgres/turn_steps.hpp"

#include <set>
#include <span>
#include <unordered_map>
#include <vector>

namespace hapax::store::postgres {

// The turns of finishes, each of which has one.
[[nodiscard]] std::vector<TurnItem> turn_items(std::span<const model::Finish> finishes);

// Used in three steps: calls() for a pipeline, read() for its results, verdicts(). One thread, one batch.
//
// The entries of turns are appended by the statements that change their executions. A position that is taken is a unique
// violation, unless it was found before (TurnSteps) and the finish barred. What entries start was started before.
class FinishBatch {
 public:
  // How much a batch hopes for. What is hoped for in vain fails with a division by zero, and nothing is changed.
  enum class Hope : std::uint8_t {
    nothing,        // those who wait for one of them are told
    nobody_waits,   // for any of them
    all_are_plain,  // if all complete: each runs under its fence, has no limit key, and nobody waits for it
  };
  FinishBatch(std::span<const model::Finish> finishes, std::int64_t offset_us, Hope hope = Hope::nothing);

  // At most three statements: those that end, those that wait again, and those that wait for events.
  [[nodiscard]] std::vector<Call> calls();
  // Behind what the turns' steps have to say, started() already. Those that can't go are told as stale, unless they are
  // repeated ones. Of turn_items() of the same finishes.
  [[nodiscard]] std::vector<Call> calls_after(TurnSteps& steps);
  [[nodiscard]] std::size_t calls_count() const { return calls_; }
  // `results` begins with the results of calls().
  void read(std::span<const Result> results);
  // One each, in order. Asks the store once more about those that did not find their execution running: an outcome that
  // is recorded under that fence already is accepted again, and an execution whose cancellation was asked for in
  // between ends now.
  [[nodiscard]] std::vector<model::FinishVerdict> verdicts(Connection& connection);
  // Limit keys that the outcomes freed, complete after verdicts().
  [[nodiscard]] const FreedKeys& freed() const { return freed_; }
  // Queues in which somebody who waited for one of them became due.
  [[nodiscard]] const std::set<std::int32_t>& woken() const { return woken_; }

 private:
  void read_ended(const Result& result);
  void read_paused(const Result& result);
  void settle_open(Connection& connection);

  const Children no_children_;
  const Children* children_ = &no_children_;
  std::span<const model::Finish> finishes_;
  std::int64_t offset_us_;
  std::vector<std::size_t> order_;  // by id, as rows are locked in that order
  std::vector<bool> accepted_;
  std::vector<bool> barred_;
  Hope hope_;
  bool all_complete_ = false;  // calls() is the one statement of complete_all_call
  bool ends_ = false;          // the first of calls() is that of the endings
  bool pauses_ = false;        // the last call is of those that wait
  std::size_t calls_ = 0;      // how many there were
  std::set<std::int32_t> woken_;
  FreedKeys freed_;
  std::unordered_map<Uuid, std::size_t> index_;  // of the first finish of each id
};

}  // namespace hapax::store::postgres
