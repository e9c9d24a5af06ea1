// Changes of activities in one transaction: which rows are locked, what is decided of each, and what is written.
//
// The rows are locked by namespace and id, so that two tickers whose batches overlap wait for each other and never cross;
// who had to wait reads what the other one wrote, finds another revision and does nothing.
#pragma once

#include "model/activity_state.hpp"
#include "store/postgres/admission.hpp"
#include "store/postgres/statement.hpp"
#include "store/postgres/stopping.hpp"

#include <optional>
#include <span>
#include <vector>

namespace hapax::store::postgres {

class ActivityBatch {
 public:
  ActivityBatch(std::span<const model::ActivityChange> changes, std::int64_t offset_us);

  // 1 statement, or 2 where something may be new. What is new gets a row that counts as removed, and is locked with the
  // rest.
  [[nodiscard]] std::vector<Call> lock_calls() const;
  // The last one's result. Decides what is applied.
  void read(const Result& locked);

  [[nodiscard]] bool applies() const;
  // Of those that are applied, in their order.
  [[nodiscard]] Items items() const;
  void count(std::vector<model::Admission> admissions);
  // Of those that started a run.
  [[nodiscard]] StopRequest stops() const;

  // 1 statement: states, versions, audit and generations.
  [[nodiscard]] Call write_call() const;
  [[nodiscard]] const std::vector<model::ActivityReply>& replies() const { return replies_; }

  // One that is applied and raises a revision, by which a commit whose answer was lost is known.
  struct Raised {
    const model::ActivityChange* change = nullptr;
    std::int64_t revision = 0;
  };
  [[nodiscard]] std::optional<Raised> raised() const;

 private:
  // A row as it was locked, and then as it is to be.
  struct Row {
    std::int64_t revision = 0;
    int version = 0;
    model::ActivityKind kind = model::ActivityKind::cron;
    bool paused = false;
    bool removed = false;
    std::optional<Time> next_due;
    bool same_definition = false;
    bool is_made = false;         // it was not there
    bool is_new_version = false;  // its definition is another
    model::ActivityTally tally;
  };

  void decide(std::size_t place, const Row& present);
  template <class Visit>
  void each_applied(const Visit& visit) const {
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (replies_[i].applied) { visit(changes_[i], rows_[i]); }
    }
  }

  std::span<const model::ActivityChange> changes_;
  std::int64_t offset_us_;
  std::vector<std::size_t> order_;  // by namespace and id
  std::vector<Row> rows_;
  std::vector<model::ActivityReply> replies_;
};

}  // namespace hapax::store::postgres
