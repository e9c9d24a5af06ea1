#include "engine/waiters.hpp"

#include "base/uuid7.hpp"
#include "store/open.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hapax::engine {
namespace {

class WaitersTest : public ::testing::Test {
 protected:
  static Waiters::News ended(const Uuid& id, std::string result, bool keep = true) {
    return {.outcome = {.id = id, .status = Status::completed, .result = std::move(result)}, .keep = keep};
  }

  // The answer that a wait gets at once, or an empty string if it has to wait.
  std::string told(const Uuid& id) {
    std::string result;
    const auto token = waiters_.watch(
        id,
        [&](const model::Outcome* outcome, const std::exception_ptr&) {
          result = outcome == nullptr ? "no outcome" : outcome->result.value_or("no result");
        },
        true);
    if (result.empty()) { EXPECT_TRUE(waiters_.unwatch(id, token)); }
    return result;
  }

  std::unique_ptr<store::Store> store_ = store::open("memory:");
  Waiters waiters_{*store_};
};

TEST_F(WaitersTest, WhoeverComesALittleLateIsToldAtOnce) {
  const Uuid kept = base::new_uuid7();
  const Uuid passed_on = base::new_uuid7();
  waiters_.publish({ended(kept, "1"), ended(passed_on, "2", false)});
  EXPECT_EQ(told(kept), "1");
  EXPECT_EQ(told(kept), "1") << "however often";
  EXPECT_EQ(told(passed_on), "");
}

TEST_F(WaitersTest, TheLast256AreRemembered) {
  std::vector<Uuid> ids;
  for (int i = 0; i < 300; ++i) {
    ids.push_back(base::new_uuid7());
    waiters_.publish({ended(ids.back(), std::to_string(i))});
  }
  waiters_.publish({ended(ids.back(), "again")});
  EXPECT_EQ(told(ids[299]), "again");
  EXPECT_EQ(told(ids[44]), "44");
  EXPECT_EQ(told(ids[43]), "");
  EXPECT_EQ(told(ids[0]), "");
}

TEST_F(WaitersTest, WhatSomebodyWaitedForIsNotRemembered) {
  const Uuid id = base::new_uuid7();
  std::string result;
  waiters_.watch(
      id, [&](const model::Outcome* outcome, const std::exception_ptr&) { result = outcome->result.value(); }, true);
  waiters_.publish({ended(id, "1")});
  EXPECT_EQ(result, "1");
  EXPECT_EQ(told(id), "");
}

}  // namespace
}  // namespace hapax::engine
