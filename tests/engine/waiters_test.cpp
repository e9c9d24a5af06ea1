#include "engine/waiters.hpp"

#include "base/uuid7.hpp"
#include "engine/world.hpp"
#include "store/open.hpp"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace hapax::engine {
namespace {

class WaitersTest : public ::testing::Test {
 protected:
  static Waiters::RecordedOutcome ended(const Uuid& id, std::string result, bool keep = true) {
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

TEST(WaitersErrorTest, AnErrorOfOneExecutionGoesToItsWaitsAlone) {
  FaultyStore store(store::open("memory:"));
  std::vector<model::NewExecution> requests;
  for (int i = 0; i < 3; ++i) { requests.push_back(new_execution()); }
  ASSERT_EQ(store.admit(requests).size(), 3U);
  store.unreadable_result = requests[1].id;
  Waiters waiters(store);
  const auto wait = [&](std::size_t i) {
    auto told = std::make_shared<std::promise<std::string>>();
    std::future<std::string> answer = told->get_future();
    waiters.watch(
        requests[i].id,
        [told](const model::Outcome* outcome, const std::exception_ptr& error) {
          try {
            if (error) { std::rethrow_exception(error); }
            told->set_value(outcome == nullptr ? "time over" : std::string(to_string(outcome->status)));
          } catch (const Error& failed) { told->set_value(failed.name()); }
        },
        false, std::chrono::seconds(20));
    return answer;
  };
  std::vector<std::future<std::string>> answers;
  for (std::size_t i = 0; i < requests.size(); ++i) { answers.push_back(wait(i)); }
  EXPECT_EQ(answers[1].get(), "DecryptionFailed");
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(answers[i].wait_for(std::chrono::milliseconds(100)), std::future_status::timeout) << i;
    (void)store.cancel({&requests[i].id, 1}, "enough");
    EXPECT_EQ(answers[i].get(), "cancelled") << i;
  }
}

}  // namespace
}  // namespace hapax::engine
