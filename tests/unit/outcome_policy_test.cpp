#include "engine/outcome_policy.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hapax::engine {
namespace {

using std::chrono::microseconds;
using Rules = OutcomePolicy::Rules;

// Times of the tables, in microseconds from an instant of no meaning.
constexpr Time at(int us) { return Time(std::chrono::seconds(1) + microseconds(us)); }

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

// A policy that sent the outcomes of `count` workflows from 0 to `took` us, with `under_way` left.
OutcomePolicy after_crowd(bool remote, Rules rules, std::size_t count = 30, int under_way = 20, int took = 700) {
  OutcomePolicy policy(remote, rules);
  policy.sent(ended(count), under_way, at(0), microseconds(took));
  return policy;
}

TEST(OutcomePolicyTest, AFewWorkflowsWaitForMoreAfterMostEndedTogether) {
  struct Row {
    std::string name;
    OutcomePolicy policy;
    std::vector<Settled> pending;
    int under_way;
    int now;
    int until;  // `now`: the outcomes go at once
  };
  for (Row row : std::vector<Row>{
           {"as long as that call took", after_crowd(false, {}), ended(3), 20, 1000, 1700},
           {"at most 1 ms", after_crowd(false, {}, 30, 20, 5000), ended(3), 20, 6000, 7000},
           {"most are not under way", after_crowd(false, {}), ended(20), 20, 1000, 1000},
           {"that was 10 ms ago", after_crowd(false, {}), ended(3), 20, 10701, 10701},
           {"just not yet", after_crowd(false, {}), ended(3), 20, 10700, 11400},
           {"few ended together", after_crowd(false, {}, 7, 5), ended(3), 20, 1000, 1000},
           {"fewer ended than were left", after_crowd(false, {}, 30, 31), ended(3), 20, 1000, 1000},
           {"nothing waits", after_crowd(false, {}), {}, 20, 1000, 1000},
           {"a task's outcome", after_crowd(false, {}), with(ended(2), outcome(model::Kind::task)), 20, 1000, 1000},
           {"a workflow that only waits", after_crowd(false, {}),
            with(ended(2), outcome(model::Kind::workflow, model::FinishKind::waiting)), 20, 1000, 1000},
           {"a remote store", after_crowd(true, {}), ended(3), 20, 1000, 1000},
           {"rule off", after_crowd(false, {.company = false}), ended(3), 20, 1000, 1000},
       }) {
    EXPECT_EQ(row.policy.wait_until(row.pending, row.under_way, at(row.now)), at(row.until)) << row.name;
  }
}

TEST(OutcomePolicyTest, MoreOutcomesDoNotMakeTheWaitLonger) {
  OutcomePolicy policy = after_crowd(false, {});
  EXPECT_EQ(policy.wait_until(ended(3), 20, at(1000)), at(1700));
  EXPECT_EQ(policy.wait_until(ended(4), 19, at(1500)), at(1700));
  policy.sent(ended(4), 19, at(1700), microseconds(300));
  EXPECT_EQ(policy.wait_until(ended(2), 20, at(2500)), at(3200)) << "the next group waits anew";
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
