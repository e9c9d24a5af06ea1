// A store that is down: the function does not run unguarded unless the caller has allowed it.
#include "delegating_store.hpp"

#include <hapax/guard.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <thread>

namespace hapax::guard_tests {

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class StoreErrorTest : public testing::Test {
 protected:
  GuardOptions options(OnStoreError on_store_error) {
    GuardOptions made;
    made.store = store_;
    made.on_store_error = on_store_error;
    made.on_warning = [this](const GuardWarning& warning) {
      const std::lock_guard lock(mutex_);
      warnings_.push_back(warning.message);
    };
    return made;
  }
  static void down() { throw StoreUnavailable("connection refused"); }

  const std::shared_ptr<DelegatingStore> store_ = std::make_shared<DelegatingStore>(memory_guard_store());
  std::mutex mutex_;
  std::vector<std::string> warnings_;
  std::atomic<int> runs_{0};
};

TEST_F(StoreErrorTest, UnderFailTheFunctionDoesNotRun) {
  const auto count = idempotent("count", options(OnStoreError::fail), [&](int) { return ++runs_; });
  store_->before_begin = down;
  EXPECT_THROW((void)count(1), StoreUnavailable);
  EXPECT_EQ(runs_, 0);
  store_->before_begin = nullptr;
  EXPECT_EQ(count(1), 1);
}

TEST_F(StoreErrorTest, UnderRunItRunsUnguardedWithAWarning) {
  const auto count = idempotent("count", options(OnStoreError::run), [&](int) { return ++runs_; });
  store_->before_begin = down;
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(1), 2);
  ASSERT_EQ(warnings_.size(), 2U);
  EXPECT_THAT(warnings_[0], HasSubstr("unguarded"));
  EXPECT_THAT(warnings_[0], HasSubstr("connection refused"));
  store_->before_begin = nullptr;
  EXPECT_EQ(count(1), 3);
  EXPECT_EQ(count(1), 3);
}

TEST_F(StoreErrorTest, WhoSawTheFirstCallAtWorkNeverRunsBesideIt) {
  std::latch inside(1);
  std::latch go_on(1);
  const auto slow = idempotent("slow", options(OnStoreError::run), [&](int) {
    inside.count_down();
    go_on.wait();
    return ++runs_;
  });
  std::thread first([&] { EXPECT_EQ(slow(1), 1); });
  inside.wait();
  std::atomic<int> looks{0};
  store_->before_begin = [&] {
    if (++looks > 1) { down(); }
  };
  EXPECT_THROW((void)slow(1), StoreUnavailable);
  go_on.count_down();
  first.join();
  EXPECT_EQ(runs_, 1);
}

TEST_F(StoreErrorTest, AResultIsOfferedAgainUntilTheStoreTakesIt) {
  const auto count = idempotent("count", options(OnStoreError::fail), [&](int) { return ++runs_; });
  int refusals = 3;
  store_->before_finish = [&] {
    if (refusals-- > 0) { down(); }
  };
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(runs_, 1);
}

TEST_F(StoreErrorTest, ALostAnswerOfFinishIsAskedAgain) {
  const auto count = idempotent("count", options(OnStoreError::fail), [&](int) { return ++runs_; });
  int lost = 1;
  store_->after_finish = [&] {
    if (lost-- > 0) { throw CommitUnknown("the answer got lost"); }
  };
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(1), 1);
}

TEST_F(StoreErrorTest, AFunctionsOwnErrorIsNotHiddenByTheStores) {
  const auto fails =
      idempotent("fails", options(OnStoreError::fail), [&](int) -> int { throw std::domain_error("x"); });
  store_->before_finish = [] { throw SchemaMismatch("not of this build"); };
  EXPECT_THROW((void)fails(1), std::domain_error);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_THAT(warnings_[0], HasSubstr("not of this build"));
}

TEST_F(StoreErrorTest, AHeartbeatThatFailsIsAWarningAndIsTriedAgain) {
  std::latch beaten(3);
  std::atomic<int> beats{0};
  store_->before_beat = [&] {
    if (++beats <= 3) { beaten.count_down(); }
    if (beats < 3) { down(); }
  };
  GuardOptions quick = options(OnStoreError::fail);
  quick.takeover_after = 300ms;
  const auto slow = idempotent("slow", quick, [&](int) {
    beaten.wait();
    return ++runs_;
  });
  EXPECT_EQ(slow(1), 1);
  const std::lock_guard lock(mutex_);
  ASSERT_GE(warnings_.size(), 2U);
  EXPECT_THAT(warnings_[0], HasSubstr("heartbeat"));
}

}  // namespace

}  // namespace hapax::guard_tests
