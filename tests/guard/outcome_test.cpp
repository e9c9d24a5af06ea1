// How calls end: failures, ttl, recursion, unstorable results, takeover, futures, on every store.
#include "delegating_store.hpp"
#include "guard_fixture.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <future>
#include <latch>
#include <thread>

namespace hapax::guard_tests {

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class OutcomeTest : public GuardTest {};

// Types that cannot be written as JSON, or only sometimes.
struct Unwritable {
  int number = 0;
};
void to_json(nlohmann::json& /*json*/, const Unwritable& /*value*/) { throw std::runtime_error("no words for it"); }
void from_json(const nlohmann::json& json, Unwritable& value) { value.number = json.get<int>(); }

TEST_P(OutcomeTest, AFailedCallMayBeMadeAgain) {
  const auto flaky = idempotent("flaky", options(), [&](int number) {
    if (++runs_ == 1) { throw std::runtime_error("no route to host"); }
    return number;
  });
  EXPECT_THROW((void)flaky(1), std::runtime_error);
  EXPECT_EQ(flaky(1), 1);
  EXPECT_EQ(flaky(1), 1);
  EXPECT_EQ(runs_, 2);
}

TEST_P(OutcomeTest, WhoWaitedForAFailedCallTakesItsTurn) {
  std::latch inside(1);
  std::latch go_on(1);
  const auto flaky = idempotent("flaky", options(), [&](int number) {
    if (++runs_ == 1) {
      inside.count_down();
      go_on.wait();
      throw std::runtime_error("no route to host");
    }
    return number;
  });
  std::thread first([&] { EXPECT_THROW((void)flaky(1), std::runtime_error); });
  inside.wait();
  std::thread second([&] { EXPECT_EQ(flaky(1), 1); });
  go_on.count_down();
  first.join();
  second.join();
  EXPECT_EQ(runs_, 2);
}

TEST_P(OutcomeTest, ALockedFailureIsTheOutcome) {
  GuardOptions locking = options();
  locking.on_failure = OnFailure::lock;
  const auto charge = idempotent("charge", locking, [&](int number) {
    ++runs_;
    if (number == 1) { throw InvalidArgument("card", "expired"); }
    if (number == 2) { throw 42; }
    if (number == 3) { throw std::string("bytes \xff"); }
    return number;
  });
  EXPECT_THROW((void)charge(1), InvalidArgument);
  try {
    (void)charge(1);
    FAIL() << "a failure was forgotten";
  } catch (const RecordedFailure& failure) {
    EXPECT_EQ(failure.type, "InvalidArgument");
    EXPECT_THAT(failure.what(), HasSubstr("card: expired"));
  }
  EXPECT_THROW((void)charge(2), int);
  try {
    (void)charge(2);
    FAIL() << "a failure was forgotten";
  } catch (const RecordedFailure& failure) {
    EXPECT_EQ(failure.type, "int");
    EXPECT_THAT(failure.what(), HasSubstr("not a std::exception"));
  }
  EXPECT_THROW((void)charge(3), std::string);
  EXPECT_THROW((void)charge(3), RecordedFailure);
  EXPECT_EQ(runs_, 3);
}

TEST_P(OutcomeTest, AnythingThrownIsHandled) {
  const auto odd = idempotent("odd", options(), [&](int number) -> int {
    ++runs_;
    throw number;
  });
  EXPECT_THROW((void)odd(1), int);
  EXPECT_THROW((void)odd(1), int);
  EXPECT_EQ(runs_, 2);
}

TEST_P(OutcomeTest, ARecordIsKeptForItsTtl) {
  GuardOptions brief = options();
  brief.ttl = 20s;
  const auto count = idempotent("count", brief, [&](int) { return ++runs_; });
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(1), 1);
  rig_->advance(21s);
  EXPECT_EQ(count(1), 2);
}

TEST_P(OutcomeTest, WhatExpiredDuringAWaitIsRunAgain) {
  // The ttl expires between the end of the first call and the waiter's next read; the locks keep the waiter from
  // reading earlier.
  std::mutex ending;
  const auto store = std::make_shared<DelegatingStore>(store_);
  store->before_begin = [&] { ending.lock(); };
  store->after_begin = [&] { ending.unlock(); };
  store->before_finish = [&] { ending.lock(); };
  store->after_finish = [&] {
    rig_->advance(21s);
    ending.unlock();
  };
  GuardOptions brief = options();
  brief.store = store;
  brief.ttl = 20s;
  std::latch inside(1);
  std::latch go_on(1);
  const auto count = idempotent("count", brief, [&](int) {
    const int run = ++runs_;
    if (run == 1) {
      inside.count_down();
      go_on.wait();
    }
    return run;
  });
  std::thread first([&] { EXPECT_EQ(count(1), 1); });
  inside.wait();
  std::thread second([&] { EXPECT_EQ(count(1), 2); });
  go_on.count_down();
  first.join();
  second.join();
}

TEST_P(OutcomeTest, ARecursionIsAnErrorNotADeadlock) {
  for (const OnDuplicate on_duplicate : {OnDuplicate::return_result, OnDuplicate::raise, OnDuplicate::wait}) {
    GuardOptions each = options();
    each.on_duplicate = on_duplicate;
    std::function<int(int)> again;
    const auto loop = idempotent("loop" + std::to_string(static_cast<int>(on_duplicate)), each,
                                 [&](int number) { return again(number); });
    again = [&](int number) { return loop(number); };
    EXPECT_THROW((void)loop(1), GuardRecursion);
    // A call with another key is no recursion, and the key is free again.
    again = [&](int number) { return number < 5 ? loop(number + 1) + 1 : 0; };
    EXPECT_EQ(loop(1), 4);
  }
}

TEST_P(OutcomeTest, AnUnstorableResultCompletesWithNull) {
  const auto make = idempotent("make", options(), [&](int number) {
    ++runs_;
    return Unwritable{number};
  });
  try {
    (void)make(1);
    FAIL() << "a result was made up";
  } catch (const ResultNotStorable& error) { EXPECT_THAT(error.what(), HasSubstr("no words for it")); }
  EXPECT_EQ(make.record(1)->status, GuardStatus::completed);
  EXPECT_EQ(make.record(1)->result, "null");
  EXPECT_THROW((void)make(1), ResultNotStorable);
  EXPECT_EQ(runs_, 1);

  const auto nan = idempotent("nan", options(), [&](int) { return std::nan(""); });
  EXPECT_THROW((void)nan(1), ResultNotStorable);
  const auto bytes = idempotent("bytes", options(), [&](int) { return std::string("\xff"); });
  EXPECT_THROW((void)bytes(1), ResultNotStorable);
  const auto large = idempotent("large", options(), [&](int) { return std::string(2 << 20, 'x'); });
  EXPECT_THROW((void)large(1), ResultNotStorable);
}

TEST_P(OutcomeTest, UnderRaiseAndWaitAnUnstorableResultIsAWarning) {
  for (const OnDuplicate on_duplicate : {OnDuplicate::raise, OnDuplicate::wait}) {
    GuardOptions each = options();
    each.on_duplicate = on_duplicate;
    const auto make =
        idempotent("make" + std::to_string(static_cast<int>(on_duplicate)), each, [](int n) { return Unwritable{n}; });
    EXPECT_EQ(make(7).number, 7);
    EXPECT_EQ(make.record(7)->status, GuardStatus::completed);
    EXPECT_EQ(make.record(7)->result, "null");
  }
  ASSERT_EQ(warnings().size(), 2U);
  EXPECT_THAT(warnings()[0], HasSubstr("its result cannot be kept"));
}

TEST_P(OutcomeTest, AForgottenCallRunsAgain) {
  const auto count = idempotent("count", options(), [&](int) { return ++runs_; });
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count.forget(1), GuardForgotten::forgotten);
  EXPECT_EQ(count(1), 2);
  EXPECT_EQ(count.forget(2), GuardForgotten::absent);
}

TEST_P(OutcomeTest, ACallThatWasTakenOverGetsAnError) {
  GuardOptions quick = options();
  quick.takeover_after.reset();
  const auto count = idempotent("count", quick, [&](int) {
    if (++runs_ == 1) {
      // As if another process had taken over: the record is replaced.
      EXPECT_EQ(store_->forget({"default", "count", "[1]"}, true), GuardForgotten::forgotten);
    }
    return runs_.load();
  });
  EXPECT_THROW((void)count(1), StaleLease);
  EXPECT_EQ(count(1), 2);
  EXPECT_EQ(count(1), 2);
}

TEST_P(OutcomeTest, AFutureCompletesItsRecordWhenTheWorkIsDone) {
  std::promise<int> work;
  const auto start = idempotent("start", options(), [&](int) {
    ++runs_;
    return work.get_future();
  });
  std::future<int> first = start(1);
  std::future<int> second = start(1);
  EXPECT_EQ(start.record(1)->status, GuardStatus::in_progress);
  EXPECT_EQ(first.wait_for(5ms), std::future_status::timeout);
  EXPECT_EQ(second.wait_for(5ms), std::future_status::timeout);
  work.set_value(42);
  EXPECT_EQ(first.get(), 42);
  EXPECT_EQ(second.get(), 42);
  EXPECT_EQ(start.record(1)->status, GuardStatus::completed);
  EXPECT_EQ(start(1).get(), 42);
  EXPECT_EQ(runs_, 1);
}

TEST_P(OutcomeTest, FuturesFailAndAreMadeAgainAsOtherCallsAre) {
  const auto start = idempotent("start", options(), [&](int number) {
    const int run = ++runs_;
    if (run == 1) { throw std::runtime_error("could not even start"); }
    return std::async(std::launch::async, [run, number] {
      if (run == 2) { throw std::runtime_error("failed half way"); }
      return number;
    });
  });
  EXPECT_THROW((void)start(1), std::runtime_error);
  EXPECT_THROW((void)start(1).get(), std::runtime_error);
  EXPECT_EQ(start(1).get(), 1);
  const auto nothing =
      idempotent("nothing", options(), [&](int) { return std::async(std::launch::deferred, [this] { ++runs_; }); });
  runs_ = 0;
  nothing(1).get();
  nothing(1).get();
  EXPECT_EQ(runs_, 1);
}

TEST_P(OutcomeTest, AsyncAndSyncCallsOfOneNameShareTheirRecords) {
  std::promise<int> work;
  const auto later = idempotent("add", options(), [&](int, int) { return work.get_future(); });
  const auto now = idempotent("add", options(), [&](int a, int b) { return ++runs_, a + b; });
  std::future<int> first = later(1, 2);
  std::thread second([&] { EXPECT_EQ(now(1, 2), 3); });
  work.set_value(3);
  second.join();
  EXPECT_EQ(first.get(), 3);
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(now(3, 4), 7);
  EXPECT_EQ(later(3, 4).get(), 7);
}

TEST_P(OutcomeTest, TheHeartbeatKeepsALongCall) {
  GuardOptions quick = options();
  quick.takeover_after = 1500ms;
  std::latch inside(1);
  std::latch go_on(1);
  const auto slow = idempotent("slow", quick, [&](int number) {
    inside.count_down();
    go_on.wait();
    return number + ++runs_;
  });
  std::thread first([&] { EXPECT_EQ(slow(1), 2); });
  inside.wait();
  const GuardKey key{"default", "slow", "[1]"};
  const Time begun = store_->read(key)->heartbeat;
  // The test moves store time by a third of takeover_after for each beat that it sees, more than takeover_after in all.
  // Until the next beat as much may pass by itself, and a third is left for a slow machine.
  Time last = begun;
  for (int beats = 0; beats < 4;) {
    rig_->advance(beats == 0 && last == begun ? 100ms : 0ms);
    for (;;) {
      const Time seen = store_->read(key)->heartbeat;
      if (seen > last) {
        last = seen;
        break;
      }
      std::this_thread::sleep_for(5ms);
    }
    ++beats;
    rig_->advance(500ms);
  }
  std::thread second([&] { EXPECT_EQ(slow(1), 2); });
  go_on.count_down();
  first.join();
  second.join();
  EXPECT_EQ(runs_, 1);
}

TEST_P(OutcomeTest, ACacheAnswersWithoutTheStore) {
  GuardOptions cached = options();
  cached.cache_records = 2;
  const auto count = idempotent("count", cached, [&](int) { return ++runs_; });
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(1), 1);
  // A record that is forgotten in the store is still answered from the cache; one forgotten through the guard is not.
  EXPECT_EQ(store_->forget({"default", "count", "[1]"}, false), GuardForgotten::forgotten);
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count.forget(1), GuardForgotten::absent);
  EXPECT_EQ(count(1), 2);
  // The cache is bounded: its oldest entry is dropped.
  for (int number = 1; number < 4; ++number) {
    (void)count(number);
    (void)count(number);
  }
  EXPECT_EQ(store_->forget({"default", "count", "[1]"}, false), GuardForgotten::forgotten);
  EXPECT_EQ(count(1), 5);
}

TEST_P(OutcomeTest, OptionsAreChecked) {
  const auto make = [](GuardOptions with, const std::string& name = "name") {
    return idempotent(name, std::move(with), [](int number) { return number; });
  };
  EXPECT_THROW((void)make({}), UsageError);
  EXPECT_THROW((void)make(options(), ""), InvalidArgument);
  EXPECT_THROW((void)make(options(), "line\nline"), InvalidArgument);
  GuardOptions bad = options();
  bad.takeover_after = 1us;
  EXPECT_THROW((void)make(bad), InvalidArgument);
  bad = options();
  bad.ttl = -1s;
  EXPECT_THROW((void)make(bad), InvalidArgument);
  bad = options();
  bad.namespace_name = "";
  EXPECT_THROW((void)make(bad), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Stores, OutcomeTest, testing::ValuesIn(all_rigs()),
                         [](const auto& each) { return each.param.name; });

}  // namespace

}  // namespace hapax::guard_tests
