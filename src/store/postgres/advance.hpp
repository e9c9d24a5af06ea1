// A batch of turns that only append, on one connection.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/entries.hpp"
#include "store/postgres/result.hpp"
#include "store/postgres/statement.hpp"

#include <optional>
#include <span>
#include <vector>

namespace hapax::store::postgres {

class AdvanceBatch {
 public:
  explicit AdvanceBatch(std::span<const model::Advance> turns);

  // This one is left out. Before calls().
  void bar(std::size_t index) { barred_[index] = true; }
  // The entries, and losses that are forgiven: 1 or 2 statements. A taken position is a unique violation.
  [[nodiscard]] std::vector<Call> calls(const Children& children, std::int64_t offset_us) const;
  // Those of a batch in which each runs under its fence, nothing is started and no loss forgiven: the cheaper one, which
  // fails with a division by zero if one does not. None when the batch is another.
  [[nodiscard]] std::optional<Call> call_of_all(std::int64_t offset_us) const;
  static void read_all(const Result& result, std::vector<model::AdvanceReply>& replies);
  // The result of the first of calls(): those that ran under their fences are accepted.
  static void read(const Result& result, std::vector<model::AdvanceReply>& replies);

 private:
  std::span<const model::Advance> turns_;
  std::vector<bool> barred_;
  std::vector<std::size_t> order_;  // by id, as rows are locked in that order
};

}  // namespace hapax::store::postgres
