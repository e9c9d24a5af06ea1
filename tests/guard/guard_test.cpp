// The guard's promises (SPEC G1 to G9) and the table of edge cases, on every store.
#include "delegating_store.hpp"
#include "rig.hpp"

#include <hapax/guard.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <latch>
#include <limits>
#include <mutex>
#include <thread>

namespace hapax::guard_tests {

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Invoice {
  std::string order;
  double total = 0;
  friend bool operator==(const Invoice&, const Invoice&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Invoice, order, total)

// What cannot be written as JSON, or only sometimes.
struct Unwritable {
  int number = 0;
};
void to_json(nlohmann::json& /*json*/, const Unwritable& /*value*/) { throw std::runtime_error("no words for it"); }
void from_json(const nlohmann::json& json, Unwritable& value) { value.number = json.get<int>(); }

class GuardTest : public testing::TestWithParam<RigFactory> {
 protected:
  GuardOptions options() {
    GuardOptions made;
    made.store = store_;
    made.on_warning = [this](const GuardWarning& warning) {
      const std::lock_guard lock(mutex_);
      warnings_.push_back(warning.message);
    };
    return made;
  }
  std::vector<std::string> warnings() {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

  std::unique_ptr<Rig> rig_ = GetParam().make();
  GuardStorePtr store_ = rig_->open();
  std::atomic<int> runs_{0};
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

TEST_P(GuardTest, TheSameArgumentsHaveOneEffect) {
  const auto create = idempotent("create", options(), [&](const std::string& order, double total) {
    ++runs_;
    return Invoice{order, total};
  });
  EXPECT_EQ(create("A-1", 99.5), (Invoice{"A-1", 99.5}));
  EXPECT_EQ(create("A-1", 99.5), (Invoice{"A-1", 99.5}));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(create("A-1", 99.75), (Invoice{"A-1", 99.75}));
  EXPECT_EQ(runs_, 2);
  // Another client of the same store, and another guard of the same name, is answered from the record too.
  GuardOptions elsewhere = options();
  elsewhere.store = rig_->open();
  const auto same = idempotent("create", elsewhere, [](const std::string&, double) { return Invoice{"never", 0}; });
  EXPECT_EQ(same("A-1", 99.5), (Invoice{"A-1", 99.5}));
  const auto other = idempotent("other", options(), [](const std::string& order, double) { return Invoice{order, 1}; });
  EXPECT_EQ(other("A-1", 99.5), (Invoice{"A-1", 1}));
}

TEST_P(GuardTest, FunctionsOfEverySortAreGuarded) {
  struct Local {
    static int twice(int number) { return 2 * number; }
  };
  const auto pointer = idempotent("pointer", options(), &Local::twice);
  EXPECT_EQ(pointer(21), 42);
  EXPECT_EQ(pointer(21), 42);
  const auto nothing = idempotent("nothing", options(), [&] { ++runs_; });
  nothing();
  nothing();
  EXPECT_EQ(runs_, 1);
  const auto moved = idempotent("moved", options(), [](std::string text) { return text + "!"; });
  EXPECT_EQ(moved("a"), "a!");
  EXPECT_EQ(moved("a"), "a!");
  const auto json = idempotent("json", options(), [](const nlohmann::json& in) { return in; });
  EXPECT_EQ(json({{"b", 1}, {"a", nullptr}}), (nlohmann::json{{"a", nullptr}, {"b", 1}}));
  const auto many = idempotent("many", options(), [](const std::vector<int>& in, bool flag, std::uint64_t large) {
    return nlohmann::json{in, flag, large};
  });
  EXPECT_EQ(many({1, 2}, true, UINT64_MAX), (nlohmann::json{{1, 2}, true, UINT64_MAX}));
  EXPECT_EQ(many({1, 2}, true, UINT64_MAX), (nlohmann::json{{1, 2}, true, UINT64_MAX}));
}

TEST_P(GuardTest, OddArgumentsAreKeysOfTheirOwnOrClearErrors) {
  const auto length = idempotent("length", options(), [&](const std::string& text) {
    ++runs_;
    return static_cast<std::int64_t>(text.size());
  });
  const std::vector<std::string> odd{"",
                                     std::string(1, '\0'),
                                     "\n",
                                     "\x7f",
                                     "\xc2\x85",
                                     "\"",
                                     "\\",
                                     "../../etc/passwd",
                                     "\xef\xbf\xbd",
                                     "\xf0\x9f\x98\x80",
                                     "sha256:",
                                     std::string(300, 'x'),
                                     std::string(300, 'x') + "y"};
  for (const std::string& text : odd) { EXPECT_EQ(length(text), static_cast<std::int64_t>(text.size())); }
  for (const std::string& text : odd) { EXPECT_EQ(length(text), static_cast<std::int64_t>(text.size())); }
  EXPECT_EQ(runs_, static_cast<int>(odd.size()));
  EXPECT_THROW((void)length("\xff"), InvalidArgument);
  EXPECT_THROW((void)length(std::string(2 << 20, 'x')), PayloadTooLarge);
  const auto number = idempotent("number", options(), [&](double) { return 1; });
  EXPECT_THROW((void)number(std::nan("")), InvalidArgument);
  EXPECT_THROW((void)number(std::numeric_limits<double>::infinity()), InvalidArgument);
  nlohmann::json deep = 1;
  for (int level = 0; level < 100; ++level) { deep = nlohmann::json::array({deep}); }
  const auto tree = idempotent("tree", options(), [&](const nlohmann::json&) { return 1; });
  EXPECT_THROW((void)tree(deep), InvalidArgument);
  EXPECT_EQ(runs_, static_cast<int>(odd.size()));
}

TEST_P(GuardTest, LongKeysAreHashedNeverCut) {
  const auto echo = idempotent("echo", options(), [](const std::string& text) { return text; });
  const std::string long_text(1000, 'a');
  EXPECT_EQ(echo(long_text + "1"), long_text + "1");
  EXPECT_EQ(echo(long_text + "2"), long_text + "2");
  const std::optional<GuardRecord> record = echo.record(long_text + "1");
  ASSERT_TRUE(record);
  EXPECT_THAT(record->key.key, testing::MatchesRegex("sha256:[0-9a-f]+"));
  EXPECT_EQ(record->key.key.size(), 7U + 64U);
  EXPECT_EQ(echo.record("short"), std::nullopt);
  EXPECT_EQ(echo("short"), "short");
  EXPECT_EQ(echo.record("short")->key.key, "[\"short\"]");
}

TEST_P(GuardTest, AKeyFunctionSaysWhatIsTheSame) {
  const auto pay = idempotent(
      "pay", options(), [&](const Invoice& invoice) { return ++runs_, invoice.total; },
      [](const Invoice& invoice) { return invoice.order; });
  EXPECT_EQ(pay({"A-1", 10}), 10);
  EXPECT_EQ(pay({"A-1", 10}), 10);
  EXPECT_EQ(runs_, 1);
  EXPECT_THROW((void)pay({"A-1", 11}), IdempotencyMismatch);
  EXPECT_EQ(pay.record({"A-1", 10})->key.key, "A-1");
  EXPECT_THROW((void)pay({"", 10}), InvalidIdempotencyKey);
  EXPECT_THROW((void)pay({"line\nline", 10}), InvalidIdempotencyKey);
  EXPECT_THROW((void)pay({"\xff", 10}), InvalidIdempotencyKey);

  GuardOptions lax = options();
  lax.compare_arguments = false;
  const auto refund = idempotent(
      "refund", lax, [](const Invoice& invoice) { return invoice.total; },
      [](const Invoice& invoice) { return invoice.order; });
  EXPECT_EQ(refund({"A-1", 10}), 10);
  EXPECT_EQ(refund({"A-1", 11}), 10);
}

TEST_P(GuardTest, AKeyThatLooksLikeAHashIsNobodyElses) {
  const auto by_text = idempotent(
      "by_text", options(), [](const std::string& text) { return text; }, [](const std::string& text) { return text; });
  const std::string long_text(1000, 'a');
  EXPECT_EQ(by_text(long_text), long_text);
  const std::string hash = by_text.record(long_text)->key.key;
  EXPECT_EQ(by_text(hash), hash);
}

TEST_P(GuardTest, RaiseTellsOfTheFirstCall) {
  GuardOptions raising = options();
  raising.on_duplicate = OnDuplicate::raise;
  const auto send = idempotent("send", raising, [](int number) { return number * 2; });
  EXPECT_EQ(send(1), 2);
  try {
    (void)send(1);
    FAIL() << "a duplicate was answered";
  } catch (const DuplicateExecution& duplicate) {
    EXPECT_EQ(duplicate.name(), "DuplicateExecution");
    EXPECT_EQ(duplicate.result, "2");
    EXPECT_TRUE(duplicate.completed_at);
    EXPECT_THAT(duplicate.what(), HasSubstr("send [1]"));
  }
}

TEST_P(GuardTest, RaiseDoesNotWaitForACallInProgress) {
  GuardOptions raising = options();
  raising.on_duplicate = OnDuplicate::raise;
  std::latch inside(1);
  std::latch go_on(1);
  const auto slow = idempotent("slow", raising, [&](int number) {
    inside.count_down();
    go_on.wait();
    return number;
  });
  std::thread first([&] { EXPECT_EQ(slow(1), 1); });
  inside.wait();
  try {
    (void)slow(1);
    ADD_FAILURE() << "a duplicate was answered";
  } catch (const DuplicateExecution& duplicate) {
    EXPECT_FALSE(duplicate.completed_at);
    EXPECT_EQ(duplicate.result, "");
  }
  go_on.count_down();
  first.join();
}

TEST_P(GuardTest, ConcurrentCallsHaveOneEffectAndOneAnswer) {
  for (const OnDuplicate on_duplicate : {OnDuplicate::return_result, OnDuplicate::wait}) {
    runs_ = 0;
    GuardOptions waiting = options();
    waiting.on_duplicate = on_duplicate;
    std::latch inside(1);
    std::latch go_on(1);
    const auto slow = idempotent("slow" + std::to_string(static_cast<int>(on_duplicate)), waiting, [&](int number) {
      inside.count_down();
      go_on.wait();
      return number + ++runs_;
    });
    std::thread first([&] { EXPECT_EQ(slow(10), 11); });
    inside.wait();
    std::vector<std::thread> others;
    for (int each = 0; each < 6; ++each) {
      others.emplace_back([&] { EXPECT_EQ(slow(10), 11); });
    }
    go_on.count_down();
    for (std::thread& each : others) { each.join(); }
    first.join();
    EXPECT_EQ(runs_, 1);
  }
}

TEST_P(GuardTest, AWaitIsBounded) {
  GuardOptions hasty = options();
  hasty.wait_timeout = 20ms;
  std::latch inside(1);
  std::latch go_on(1);
  const auto slow = idempotent("slow", hasty, [&](int number) {
    inside.count_down();
    go_on.wait();
    return number;
  });
  std::thread first([&] { EXPECT_EQ(slow(1), 1); });
  inside.wait();
  EXPECT_THROW((void)slow(1), WaitTimeout);
  go_on.count_down();
  first.join();
  EXPECT_EQ(slow(1), 1);
}

TEST_P(GuardTest, AFailedCallMayBeMadeAgain) {
  const auto flaky = idempotent("flaky", options(), [&](int number) {
    if (++runs_ == 1) { throw std::runtime_error("no route to host"); }
    return number;
  });
  EXPECT_THROW((void)flaky(1), std::runtime_error);
  EXPECT_EQ(flaky(1), 1);
  EXPECT_EQ(flaky(1), 1);
  EXPECT_EQ(runs_, 2);
}

TEST_P(GuardTest, WhoWaitedForAFailedCallTakesItsTurn) {
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

TEST_P(GuardTest, ALockedFailureIsTheOutcome) {
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

TEST_P(GuardTest, AnythingThrownIsHandled) {
  const auto odd = idempotent("odd", options(), [&](int number) -> int {
    ++runs_;
    throw number;
  });
  EXPECT_THROW((void)odd(1), int);
  EXPECT_THROW((void)odd(1), int);
  EXPECT_EQ(runs_, 2);
}

TEST_P(GuardTest, ARecordIsKeptForItsTtl) {
  GuardOptions brief = options();
  brief.ttl = 400ms;
  const auto count = idempotent("count", brief, [&](int) { return ++runs_; });
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(1), 1);
  rig_->advance(450ms);
  EXPECT_EQ(count(1), 2);
}

TEST_P(GuardTest, WhatExpiredDuringAWaitIsRunAgain) {
  // Between the first call's end and the look of who waited for it the ttl is over.
  std::mutex ending;
  const auto store = std::make_shared<DelegatingStore>(store_);
  store->before_begin = [&] { const std::lock_guard lock(ending); };
  store->before_finish = [&] { ending.lock(); };
  store->after_finish = [&] {
    rig_->advance(450ms);
    ending.unlock();
  };
  GuardOptions brief = options();
  brief.store = store;
  brief.ttl = 400ms;
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

TEST_P(GuardTest, ARecursionIsAnErrorNotADeadlock) {
  for (const OnDuplicate on_duplicate : {OnDuplicate::return_result, OnDuplicate::raise, OnDuplicate::wait}) {
    GuardOptions each = options();
    each.on_duplicate = on_duplicate;
    std::function<int(int)> again;
    const auto loop = idempotent("loop" + std::to_string(static_cast<int>(on_duplicate)), each,
                                 [&](int number) { return again(number); });
    again = [&](int number) { return loop(number); };
    EXPECT_THROW((void)loop(1), GuardRecursion);
    // Another key is no recursion, and the key is free again.
    again = [&](int number) { return number < 5 ? loop(number + 1) + 1 : 0; };
    EXPECT_EQ(loop(1), 4);
  }
}

TEST_P(GuardTest, AnUnstorableResultCompletesWithNull) {
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

TEST_P(GuardTest, UnderRaiseAndWaitAnUnstorableResultIsAWarning) {
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

TEST_P(GuardTest, AForgottenCallRunsAgain) {
  const auto count = idempotent("count", options(), [&](int) { return ++runs_; });
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count.forget(1), GuardForgotten::forgotten);
  EXPECT_EQ(count(1), 2);
  EXPECT_EQ(count.forget(2), GuardForgotten::absent);
}

TEST_P(GuardTest, ACallThatWasTakenOverGetsAnError) {
  GuardOptions quick = options();
  quick.takeover_after.reset();
  const auto count = idempotent("count", quick, [&](int) {
    if (++runs_ == 1) {
      // As if another process had taken over: the record is another one now.
      EXPECT_EQ(store_->forget({"default", "count", "[1]"}, true), GuardForgotten::forgotten);
    }
    return runs_.load();
  });
  EXPECT_THROW((void)count(1), StaleLease);
  EXPECT_EQ(count(1), 2);
  EXPECT_EQ(count(1), 2);
}

TEST_P(GuardTest, AFutureCompletesItsRecordWhenTheWorkIsDone) {
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

TEST_P(GuardTest, FuturesFailAndAreMadeAgainAsOtherCallsAre) {
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

TEST_P(GuardTest, AsyncAndSyncCallsOfOneNameShareTheirRecords) {
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

TEST_P(GuardTest, TheHeartbeatKeepsALongCall) {
  GuardOptions quick = options();
  quick.takeover_after = 300ms;
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
  // Store time is moved on by less than takeover_after for each beat that is seen: several times takeover_after in all.
  Time last = begun;
  for (int beats = 0; beats < 5;) {
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
    rig_->advance(200ms);
  }
  std::thread second([&] { EXPECT_EQ(slow(1), 2); });
  go_on.count_down();
  first.join();
  second.join();
  EXPECT_EQ(runs_, 1);
}

TEST_P(GuardTest, ACacheAnswersWithoutTheStore) {
  GuardOptions cached = options();
  cached.cache_records = 2;
  const auto count = idempotent("count", cached, [&](int) { return ++runs_; });
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(1), 1);
  // Forgotten behind its back, it is still answered; forgotten through the guard, it is not.
  EXPECT_EQ(store_->forget({"default", "count", "[1]"}, false), GuardForgotten::forgotten);
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count.forget(1), GuardForgotten::absent);
  EXPECT_EQ(count(1), 2);
  // Bounded: the oldest goes.
  for (int number = 1; number < 4; ++number) {
    (void)count(number);
    (void)count(number);
  }
  EXPECT_EQ(store_->forget({"default", "count", "[1]"}, false), GuardForgotten::forgotten);
  EXPECT_EQ(count(1), 5);
}

TEST_P(GuardTest, OptionsAreChecked) {
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
  bad.ns = "";
  EXPECT_THROW((void)make(bad), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Stores, GuardTest, testing::ValuesIn(all_rigs()),
                         [](const auto& each) { return each.param.name; });

}  // namespace

}  // namespace hapax::guard_tests
