// Changes of activities in one transaction: which rows are locked, what is decided for each, and what is written.
//
// Rows are locked by namespace and id, so that two tickers with overlapping batches wait for each other and never
// deadlock. The ticker that waited reads the other's revision, which is not the one it expects, and does nothing.
#pragma once

#include "model/activity_state.hpp"
#include "store/postgres/admit.hpp"
#include "store/postgres/cancel_retry.hpp"
#include "store/postgres/statement.hpp"

#include <optional>
#include <span>
#include <vector>

namespace hapax::store::postgres {

class ActivityBatch {
 public:
  ActivityBatch(std::span<const model::ActivityChange> changes, std::int64_t offset_us);

  // 1 statement, or 2 when an activity may be new. A new activity gets a row that counts as removed, which is locked
  // with the rest.
  [[nodiscard]] std::vector<Call> lock_calls() const;
  // Takes the result of the last of lock_calls(). Decides which changes are applied.
  void read(const Result& locked);

  [[nodiscard]] bool applies() const;
  // The executions to admit for the applied changes, in order.
  [[nodiscard]] Items items() const;
  void count(std::vector<model::Admission> admissions);
  // The executions to stop for the changes that started a run.
  [[nodiscard]] StopRequest stops() const;

  // 1 statement: states, versions, audit and generations.
  [[nodiscard]] Call write_call() const;
  [[nodiscard]] const std::vector<model::ActivityReply>& replies() const { return replies_; }

  // An applied change that raises a revision. After a commit whose answer was lost, the stored revision shows whether
  // it was kept.
  struct Raised {
    const model::ActivityChange* change = nullptr;
    std::int64_t revision = 0;
  };
  [[nodiscard]] std::optional<Raised> raised() const;

 private:
  // A row: first as it was locked, after decide() as it will be written.
  struct Row {
    std::int64_t revision = 0;
    int version = 0;
    model::ActivityKind kind = model::ActivityKind::cron;
    bool paused = false;
    bool removed = false;
    std::optional<Time> next_due;
    bool same_definition = false;
    bool is_made = false;         // the activity did not exist
    bool is_new_version = false;  // the definition changed
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
