// Guarded asynchronous work with Asio's completion tokens.
#include <hapax/guard_asio.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <atomic>

namespace hapax::guard_tests {

namespace {

class GuardAsioTest : public testing::Test {
 protected:
  GuardOptions options() {
    GuardOptions made;
    made.store = store_;
    return made;
  }

  GuardStorePtr store_ = memory_guard_store();
  boost::asio::io_context context_;
  std::atomic<int> runs_{0};
};

TEST_F(GuardAsioTest, TheRecordIsCompleteWhenTheWorkIs) {
  std::function<void()> finish;
  const auto work = asio::idempotent<int(int)>("work", options(), [&](int number, asio::GuardDone<int> done) {
    ++runs_;
    finish = [number, done] { done(nullptr, 2 * number); };
  });
  std::vector<int> answers;
  const auto take = [&](std::exception_ptr error, int result) {
    EXPECT_FALSE(error);
    answers.push_back(result);
  };
  const GuardKey key{"default", "work", "[21]"};
  work(21, boost::asio::bind_executor(context_, take));
  work(21, boost::asio::bind_executor(context_, take));
  while (!finish) { context_.run_one(); }
  EXPECT_EQ(store_->read(key)->status, GuardStatus::in_progress);
  EXPECT_TRUE(answers.empty());
  finish();
  context_.run();
  EXPECT_EQ(answers, (std::vector<int>{42, 42}));
  EXPECT_EQ(store_->read(key)->status, GuardStatus::completed);
  EXPECT_EQ(runs_, 1);
}

TEST_F(GuardAsioTest, FailuresAndFuturesAndNoResults) {
  const auto flaky =
      asio::idempotent<void(std::string)>("flaky", options(), [&](const std::string& text, asio::GuardDone<void> done) {
        if (++runs_ == 1) { throw std::runtime_error("could not start " + text); }
        if (runs_ == 2) { return done(std::make_exception_ptr(std::runtime_error("failed half way"))); }
        if (runs_ == 3) { return; }  // the completion handler is dropped
        done(nullptr);
      });
  EXPECT_THROW(flaky("a", boost::asio::use_future).get(), std::runtime_error);
  EXPECT_THROW(flaky("a", boost::asio::use_future).get(), std::runtime_error);
  EXPECT_THROW(flaky("a", boost::asio::use_future).get(), UsageError);
  flaky("a", boost::asio::use_future).get();
  flaky("a", boost::asio::use_future).get();
  EXPECT_EQ(runs_, 4);
  EXPECT_THROW(flaky("\xff", boost::asio::use_future), InvalidArgument);
}

TEST_F(GuardAsioTest, RecordsAreSharedWithPlainCalls) {
  const auto later = asio::idempotent<int(int, int)>(
      "add", options(), [&](int a, int b, asio::GuardDone<int> done) { done(nullptr, a + b); });
  const auto now = idempotent("add", options(), [&](int, int) { return ++runs_; });
  EXPECT_EQ(later(1, 2, boost::asio::use_future).get(), 3);
  EXPECT_EQ(now(1, 2), 3);
  EXPECT_EQ(now(3, 4), 1);
  EXPECT_EQ(later(3, 4, boost::asio::use_future).get(), 1);
}

}  // namespace

}  // namespace hapax::guard_tests
