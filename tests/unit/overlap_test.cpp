#include "schedule/overlap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace hapax::schedule {
namespace {

using testing::ElementsAre;
using Action = OverlapAction;

// The actions for several ticks, one after the other.
std::vector<Action> admit(Overlap policy, OverlapState state, int ticks) {
  std::vector<Action> actions;
  for (int i = 0; i < ticks; ++i) { actions.push_back(admit_tick(policy, state)); }
  return actions;
}

constexpr std::array all = {Overlap::allow,      Overlap::skip,         Overlap::buffer_one,
                            Overlap::buffer_all, Overlap::cancel_other, Overlap::terminate_other};

TEST(Overlap, ATickStartsWhenNothingRunsOrWaits) {
  for (const Overlap policy : all) {
    OverlapState state;
    EXPECT_EQ(admit_tick(policy, state), Action::start);
    EXPECT_TRUE(state.running);
  }
}

TEST(Overlap, WhileTheLastRunIsGoing) {
  const OverlapState going{.running = true};
  EXPECT_THAT(admit(Overlap::allow, going, 2), ElementsAre(Action::start, Action::start));
  EXPECT_THAT(admit(Overlap::skip, going, 2), ElementsAre(Action::drop, Action::drop));
  EXPECT_THAT(admit(Overlap::buffer_one, going, 3), ElementsAre(Action::wait, Action::drop, Action::drop));
  EXPECT_THAT(admit(Overlap::buffer_all, going, 3), ElementsAre(Action::wait, Action::wait, Action::wait));
  EXPECT_THAT(admit(Overlap::cancel_other, going, 2), ElementsAre(Action::cancel_and_wait, Action::cancel_and_wait));
  EXPECT_THAT(admit(Overlap::terminate_other, going, 2),
              ElementsAre(Action::terminate_and_start, Action::terminate_and_start));
}

TEST(Overlap, TicksThatAreCaughtUpMeetEachOther) {
  EXPECT_THAT(admit(Overlap::skip, {}, 3), ElementsAre(Action::start, Action::drop, Action::drop));
  EXPECT_THAT(admit(Overlap::buffer_one, {}, 3), ElementsAre(Action::start, Action::wait, Action::drop));
}

TEST(Overlap, WhatWaitsIsNotOvertaken) {
  OverlapState state{.running = false, .waiting = 1};
  EXPECT_TRUE(may_release(state));
  EXPECT_EQ(admit_tick(Overlap::buffer_all, state), Action::wait);
  EXPECT_EQ(state.waiting, 2);
  state.running = true;
  EXPECT_FALSE(may_release(state));
}

TEST(Overlap, OfThoseThatCancelOnlyTheNewestWaits) {
  OverlapState state{.running = true};
  (void)admit_tick(Overlap::cancel_other, state);
  (void)admit_tick(Overlap::cancel_other, state);
  EXPECT_EQ(state.waiting, 1);
  EXPECT_TRUE(state.running);
}

TEST(Overlap, BufferAllIsBounded) {
  OverlapState state{.running = true, .waiting = limits::buffered_runs};
  EXPECT_EQ(admit_tick(Overlap::buffer_all, state), Action::drop);
  EXPECT_EQ(state.waiting, limits::buffered_runs);
}

}  // namespace
}  // namespace hapax::schedule
