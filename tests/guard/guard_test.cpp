// One effect for the same arguments: keys, and the answers to duplicates, on every store.
#include "guard_fixture.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <latch>
#include <limits>
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
  // Another client of the same store, with a guard of the same name, also gets its answer from the record.
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

INSTANTIATE_TEST_SUITE_P(Stores, GuardTest, testing::ValuesIn(all_rigs()),
                         [](const auto& each) { return each.param.name; });

}  // namespace

}  // namespace hapax::guard_tests
