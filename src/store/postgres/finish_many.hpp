// A batch of outcomes on one connection.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/park.hpp"
#include "store/postgres/turn_steps.hpp"

#include <set>
#include <span>
#include <unordered_map>
#include <vector>

namespace hapax::store::postgres {

// The turns of finishes. Each finish must have one.
[[nodiscard]] std::vector<TurnItem> turn_items(std::span<const model::Finish> finishes);

// Used in three steps: calls() for a pipeline, read() for its results, verdicts(). One thread, one batch.
//
// The statements that change the executions append the entries of their turns. A taken position is a unique violation,
// unless TurnSteps found it before and the finish was barred. Whatever the entries start was admitted before.
class FinishBatch {
 public:
  // Which special cases the batch is assumed not to have. The cheaper statements do not find executions for which the
  // assumption is wrong: verdicts() ends these.
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

 private:
  void read_ended(const Result& result);
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
  bool all_complete_ = false;  // calls() is the one statement of complete_all_call
  bool ends_ = false;          // the first of calls() ends executions
  bool pauses_ = false;        // the last of calls() is that of waiting workflows
  std::size_t calls_ = 0;      // how many calls() returned
  std::set<std::int32_t> woken_;
  FreedKeys freed_;
  std::unordered_map<Uuid, std::size_t> index_;  // of the first finish of each id
};

}  // namespace hapax::store::postgres
