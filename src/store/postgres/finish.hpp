// A batch of outcomes on one connection.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/parking.hpp"

#include <span>
#include <unordered_map>
#include <vector>

namespace hapax::store::postgres {

// Used in three steps: calls() for a pipeline, read() for its results, verdicts(). One thread, one batch.
class FinishBatch {
 public:
  FinishBatch(std::span<const model::Finish> finishes, std::int64_t offset_us);

  // At most two statements: those that end, and those that wait again.
  [[nodiscard]] std::vector<Call> calls() const;
  // `results` begins with the results of calls().
  void read(const std::vector<Result>& results);
  // One each, in order. Asks the store once more about those that did not find their execution running: an outcome that
  // is recorded under that fence already is accepted again, and an execution whose cancellation was asked for in
  // between ends now.
  [[nodiscard]] std::vector<model::FinishVerdict> verdicts(Connection& connection);
  // Limit keys that the outcomes freed, complete after verdicts().
  [[nodiscard]] const FreedKeys& freed() const { return freed_; }

 private:
  [[nodiscard]] std::size_t calls_count() const;
  void settle_open(Connection& connection);

  std::span<const model::Finish> finishes_;
  std::int64_t offset_us_;
  std::vector<std::size_t> order_;  // by id, as rows are locked in that order
  std::vector<bool> accepted_;
  FreedKeys freed_;
  std::unordered_map<Uuid, std::size_t> index_;  // of the first finish of each id
};

}  // namespace hapax::store::postgres
