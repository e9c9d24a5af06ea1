// A batch of workflow turns that only append journal entries, on one connection.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/journal.hpp"
#include "store/postgres/result.hpp"
#include "store/postgres/statement.hpp"

#include <optional>
#include <span>
#include <vector>

namespace hapax::store::postgres {

class AdvanceBatch {
 public:
  explicit AdvanceBatch(std::span<const model::Advance> turns);

  // Leaves this turn out. Call before calls().
  void bar(std::size_t index) { barred_[index] = true; }
  // 1 or 2 statements: append the entries, and reset `lost` for turns with clears_lost. A taken position is a unique
  // violation.
  [[nodiscard]] std::vector<Call> calls(const Children& children, std::int64_t offset_us) const;
  // One cheaper statement for a batch in which every run holds its fence, nothing is started and no `lost` is reset.
  // None when a turn resets `lost`. read_all() returns false, and nothing is appended, if a run does not hold its fence.
  [[nodiscard]] std::optional<Call> call_of_all(std::int64_t offset_us) const;
  static bool read_all(const Result& result, std::vector<model::AdvanceReply>& replies);
  // Takes the result of the first of calls(). Turns of runs that held their fences are accepted.
  static void read(const Result& result, std::vector<model::AdvanceReply>& replies);

 private:
  std::span<const model::Advance> turns_;
  std::vector<bool> barred_;
  std::vector<std::size_t> order_;  // by id, as rows are locked in that order
};

}  // namespace hapax::store::postgres
