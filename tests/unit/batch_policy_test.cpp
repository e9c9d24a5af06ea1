#include "engine/batch_policy.hpp"

#include "base/plain_path.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace hapax::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Leader = BatchPolicy::Leader;
using Rules = BatchPolicy::Rules;

// Times of the tables, in microseconds from an instant of no meaning.
constexpr Time at(int us) { return Time(milliseconds(1000) + microseconds(us)); }

constexpr BatchPolicy::Options usual{.rules = {}};
constexpr Rules no_rules{.gather = false, .burst = false};

// A call of `items` requests from 0 to `us`.
BatchCall call(std::size_t items, int us) { return {.items = items, .began = at(0), .ended = at(us)}; }

// A policy whose last call answered `answered` callers by `us`, while `waiting` others came.
BatchPolicy after_call(BatchPolicy::Options options, std::size_t answered, std::size_t waiting, int us = 400) {
  BatchPolicy policy(options);
  policy.began();
  policy.ended(call(answered, us), {.items = waiting});
  return policy;
}

struct WaitCase {
  std::string name;
  BatchPolicy policy;
  Leader leader;
  WaitingBatch waiting;
  int now;
  int until;  // `now`: the leader goes at once
};

void expect_wait(WaitCase one) {
  EXPECT_EQ(one.policy.wait_until(one.leader, one.waiting, at(one.now)), at(one.until)) << one.name;
}

// The last call took 400 us unless the row says something else.
TEST(BatchPolicyTest, ALeaderWaitsForTheCallersThatTheLastCallAnswered) {
  const Leader caller = Leader::caller;
  BatchPolicy no_gather = after_call({.rules = {.gather = false}}, 8, 0);
  for (const WaitCase& one : std::vector<WaitCase>{
           {"the first request of all", BatchPolicy(usual), caller, {.items = 1}, 0, 0},
           {"after a call for one", after_call(usual, 1, 0), caller, {.items = 1}, 410, 410},
           {"a quarter of the call", after_call(usual, 8, 0), caller, {.items = 1}, 410, 500},
           {"at most 200 us", after_call(usual, 8, 0, 4000), caller, {.items = 1}, 4010, 4200},
           {"for those that came meanwhile too", after_call(usual, 4, 4), caller, {.items = 4}, 410, 500},
           {"all are back", after_call(usual, 4, 4), caller, {.items = 8}, 410, 410},
           {"that time is over", after_call(usual, 8, 0), caller, {.items = 1}, 500, 500},
           {"no more than one batch", after_call({.max_items = 4, .rules = {}}, 4, 3), caller, {.items = 4}, 410, 410},
           {"the background thread leads", after_call(usual, 8, 0), Leader::background, {.items = 1}, 410, 410},
           {"rule off", no_gather, caller, {.items = 1}, 410, 410},
           {"all rules off", after_call({.rules = no_rules}, 8, 0), caller, {.items = 1}, 410, 410},
       }) {
    expect_wait(one);
  }
}

TEST(BatchPolicyTest, ALeaderStopsWaitingWhenEnoughAreBack) {
  BatchPolicy policy = after_call(usual, 3, 0);
  EXPECT_EQ(policy.wait_until(Leader::caller, {.items = 1}, at(410)), at(500));
  EXPECT_FALSE(policy.enough({.items = 2}));
  EXPECT_TRUE(policy.enough({.items = 3}));
  EXPECT_EQ(policy.wait_until(Leader::caller, {.items = 2}, at(420)), at(500)) << "woken for nothing";
  EXPECT_EQ(policy.wait_until(Leader::caller, {.items = 3}, at(430)), at(430));
}

TEST(BatchPolicyTest, AfterAWaitInVainTheNextLeadersDoNotWait) {
  BatchPolicy policy = after_call(usual, 8, 0);
  const auto turn = [&policy](std::size_t back) {  // returns whether the leader waited, and calls for 8 again
    const bool waited = policy.wait_until(Leader::caller, {.items = 1}, at(410)) > at(410);
    if (waited) { (void)policy.wait_until(Leader::caller, {.items = back}, at(500)); }
    policy.began();
    policy.ended(call(8, 400), {});
    return waited;
  };
  EXPECT_TRUE(turn(8));
  EXPECT_TRUE(turn(5)) << "half of them came back: the wait is worth it";
  EXPECT_TRUE(turn(2));
  for (int skipped = 0; skipped < 4; ++skipped) { EXPECT_FALSE(turn(2)) << skipped; }
  EXPECT_TRUE(turn(2));
  for (int skipped = 0; skipped < 12; ++skipped) { EXPECT_FALSE(turn(2)) << skipped; }
  EXPECT_TRUE(turn(8));
  EXPECT_TRUE(turn(8));
}

TEST(BatchPolicyTest, TheBackgroundThreadWaitsForTheEndOfABurst) {
  const auto in_burst = [](BatchPolicy::Options options) {
    BatchPolicy policy(options);
    policy.burst_began(at(0));
    return policy;
  };
  BatchPolicy ended = in_burst(usual);
  ended.burst_ended();
  BatchPolicy two = in_burst(usual);
  two.burst_began(at(600));
  two.burst_ended();
  const Leader background = Leader::background;
  for (const WaitCase& one : std::vector<WaitCase>{
           {"at most 1 ms", in_burst(usual), background, {.items = 1}, 10, 1000},
           {"that time is over", in_burst(usual), background, {.items = 1}, 1000, 1000},
           {"as the option says",
            in_burst({.burst_max = milliseconds(3), .rules = {}}),
            background,
            {.items = 1},
            10,
            3000},
           {"the burst has ended", ended, background, {.items = 1}, 10, 10},
           {"one of two has ended; the first one's time counts", two, background, {.items = 1}, 700, 1000},
           {"a blocking caller does not wait", in_burst(usual), background, {.items = 2, .has_caller = true}, 10, 10},
           {"nothing can join", in_burst(usual), background, {.items = 9, .closed = true}, 10, 10},
           {"a caller leads", in_burst(usual), Leader::caller, {.items = 1}, 10, 10},
           {"rule off", in_burst({.rules = {.burst = false}}), background, {.items = 1}, 10, 10},
       }) {
    expect_wait(one);
  }
}

TEST(BatchPolicyTest, BurstsThatFollowEachOtherDoNotHoldALeaderForLonger) {
  BatchPolicy policy(usual);
  policy.burst_began(at(0));
  EXPECT_EQ(policy.wait_until(Leader::background, {.items = 1}, at(10)), at(1000));
  policy.burst_ended();
  EXPECT_TRUE(policy.enough({.items = 1}));
  policy.burst_began(at(900));
  EXPECT_FALSE(policy.enough({.items = 1}));
  EXPECT_EQ(policy.wait_until(Leader::background, {.items = 1}, at(1000)), at(1000));
}

TEST(BatchPolicyTest, AllFastPathsAreTakenUnlessTheEnvironmentNamesThem) {
  for (const std::string_view path : base::fast_paths) { EXPECT_FALSE(base::takes_plain_path(path)) << path; }
  const Rules rules = BatchPolicy::usual_rules();
  EXPECT_TRUE(rules.gather && rules.burst);
}

}  // namespace
}  // namespace hapax::engine
