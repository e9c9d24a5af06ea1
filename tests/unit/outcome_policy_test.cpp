#include "engine/outcome_policy.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hapax::engine {
namespace {

Settled outcome(model::Kind kind, model::FinishKind finish_kind = model::FinishKind::completed) {
  model::Claim claim;
  claim.kind = kind;
  model::Finish finish;
  finish.kind = finish_kind;
  return {std::make_shared<Run>(std::move(claim)), std::move(finish), {}};
}

std::vector<Settled> ended(std::size_t count) { return std::vector<Settled>(count, outcome(model::Kind::workflow)); }

std::vector<Settled> with(std::vector<Settled> outcomes, Settled more) {
  outcomes.push_back(std::move(more));
  return outcomes;
}

TEST(OutcomePolicyTest, ARemoteStoreGetsTheOutcomesOfAllWorkflowsInTwoHalves) {
  OutcomePolicy many(true, {});
  (void)many.share(ended(50), 50, 0);  // 100 at once
  struct Row {
    std::string name;
    OutcomePolicy policy;
    std::vector<Settled> pending;
    int under_way;
    int tasks;
    std::size_t share;
  };
  for (Row row : std::vector<Row>{
           {"all at once", OutcomePolicy(true, {}), ended(50), 0, 0, 25},
           {"16 are worth it", OutcomePolicy(true, {}), ended(16), 0, 0, 8},
           {"15 are not", OutcomePolicy(true, {}), ended(15), 0, 0, 15},
           {"one is under way", OutcomePolicy(true, {}), ended(50), 1, 0, 50},
           {"a task is held", OutcomePolicy(true, {}), ended(50), 0, 1, 50},
           {"three quarters of the recent ones", many, ended(71), 0, 0, 35},
           {"fewer than that", many, ended(70), 0, 0, 70},
           {"a task's outcome", OutcomePolicy(true, {}), with(ended(50), outcome(model::Kind::task)), 0, 0, 51},
           {"a store in this process", OutcomePolicy(false, {}), ended(50), 0, 0, 50},
           {"rule off", OutcomePolicy(true, {.halving = false}), ended(50), 0, 0, 50},
       }) {
    EXPECT_EQ(row.policy.share(row.pending, row.under_way, row.tasks), row.share) << row.name;
  }
}

}  // namespace
}  // namespace hapax::engine
