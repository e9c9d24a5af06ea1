// Begins whose answer was lost: no caller runs them, so they are taken back and hold no key, even if takeover is
// disabled.
#include "server_rigs.hpp"

#include "../engine/faulty_store.hpp"

#include "base/fault.hpp"
#include "guard/execution_store.hpp"
#include "guard/redis_pool.hpp"
#include "guard/redis_scripts.hpp"
#include "guard/redis_url.hpp"
#include "store/open.hpp"

#include <hapax/error.hpp>
#include <hapax/guard.hpp>

#include <gtest/gtest.h>

namespace hapax::guard_tests {

namespace {

class DoubtTest : public testing::Test {
 protected:
  ~DoubtTest() override { base::arm_faults(""); }

  static std::unique_ptr<Rig> rig(const std::string& name) {
    for (const RigFactory& each : all_rigs()) {
      if (each.name == name) { return each.make(); }
    }
    throw std::runtime_error("no rig " + name);
  }
  static GuardBegin never(const std::string& key) {
    GuardBegin begin;
    begin.key = {"default", "charge", key};
    begin.takeover_after.reset();
    return begin;
  }
};

TEST_F(DoubtTest, OnSqliteTheNextCallTakesItBack) {
  const std::unique_ptr<Rig> place = rig("sqlite");
  const GuardStorePtr first = place->open();
  const GuardStorePtr second = place->open();
  base::arm_faults("sqlite.admit.after_commit=throw");
  EXPECT_THROW((void)first->begin(never("a")), CommitUnknown);
  base::arm_faults("");
  EXPECT_EQ(second->begin(never("a")).begun, GuardBegun::in_progress);
  // Any later call of the process that lost the answer takes the begin back.
  EXPECT_EQ(first->begin(never("b")).begun, GuardBegun::started);
  const GuardAnswer mine = second->begin(never("a"));
  ASSERT_EQ(mine.begun, GuardBegun::started);
  EXPECT_EQ(first->begin(never("a")).begun, GuardBegun::in_progress);
  EXPECT_EQ(second->finish(mine.hold, {.result = "1"}), GuardVerdict::accepted);
}

TEST_F(DoubtTest, OnSqliteTheSameCallMadeAgainRuns) {
  const std::unique_ptr<Rig> place = rig("sqlite");
  const GuardStorePtr store = place->open();
  GuardOptions options;
  options.store = store;
  options.takeover_after.reset();
  int runs = 0;
  const auto charge = idempotent("charge", options, [&](int) { return ++runs; });
  base::arm_faults("sqlite.admit.after_commit=throw");
  EXPECT_THROW((void)charge(1), StoreUnavailable);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(charge(1), 1);
  EXPECT_EQ(charge(1), 1);
}

TEST_F(DoubtTest, WhatSomebodyHasTakenOverMeanwhileIsLeftAlone) {
  const std::unique_ptr<Rig> place = rig("sqlite");
  const GuardStorePtr first = place->open();
  const GuardStorePtr second = place->open();
  GuardBegin brief = never("a");
  brief.takeover_after = std::chrono::seconds(10);
  base::arm_faults("sqlite.admit.after_commit=throw");
  EXPECT_THROW((void)first->begin(brief), CommitUnknown);
  base::arm_faults("");
  place->advance(std::chrono::seconds(11));
  const GuardAnswer taken = second->begin(brief);
  ASSERT_EQ(taken.begun, GuardBegun::started);
  EXPECT_TRUE(taken.taken_over);
  EXPECT_EQ(first->begin(brief).begun, GuardBegun::in_progress);
  EXPECT_EQ(second->finish(taken.hold, {.result = "1"}), GuardVerdict::accepted);
}

TEST_F(DoubtTest, OnPostgresTheStoreReadsBackWhatItBegan) {
  const std::unique_ptr<Rig> place = rig("postgres");
  const GuardStorePtr store = place->open();
  base::arm_faults("postgres.admit.after_commit=throw");
  const GuardAnswer begun = store->begin(never("a"));
  ASSERT_EQ(begun.begun, GuardBegun::started);
  EXPECT_EQ(store->finish(begun.hold, {.result = "1"}), GuardVerdict::accepted);
  EXPECT_EQ(store->begin(never("a")).record.result, "1");
}

// The takeover is committed, and then the store cannot tell the time: the caller gets an error and runs nothing. The
// process keeps beating for another call, and must not keep this key.
TEST_F(DoubtTest, ATakeOverThatWasNotToldToItsCallerIsNotRenewed) {
  using namespace std::chrono_literals;
  const Folder folder;
  const std::string url = "sqlite:" + folder.path() + "/guard.db";
  const auto offset = std::make_shared<std::atomic<std::int64_t>>(0);
  const auto advance = [&](Duration by) { offset->fetch_add(by.count()); };
  engine::FaultyStore* faulty = nullptr;
  const auto open = [&] {
    return std::make_shared<guard::ExecutionStore>([&] {
      store::OpenOptions options;
      options.migrate = store::Migrate::yes;
      options.clock_offset_us = offset;
      auto made = std::make_shared<engine::FaultyStore>(store::open(url, options));
      faulty = made.get();
      return std::shared_ptr<store::Store>(made);
    });
  };
  const auto first = open();
  const auto second = open();
  GuardBegin brief = never("a");
  brief.takeover_after = 10s;
  ASSERT_EQ(first->begin(brief).begun, GuardBegun::started);
  advance(11s);
  GuardBegin other = never("b");
  other.takeover_after = 10s;
  const GuardAnswer held = second->begin(other);
  ASSERT_EQ(held.begun, GuardBegun::started);
  faulty->refuse_now = 1;
  EXPECT_THROW((void)second->begin(brief), StoreUnavailable);
  for (int beats = 0; beats < 4; ++beats) {
    EXPECT_TRUE(second->beat(std::span(&held.hold, 1)).empty());
    advance(4s);
  }
  const GuardAnswer again = second->begin(brief);
  EXPECT_EQ(again.begun, GuardBegun::started);
  EXPECT_TRUE(again.taken_over);
}

// Another session's open transaction locks the record's row: the caller gets a busy error and may finish again.
TEST_F(DoubtTest, AFinishWhoseRowIsHeldIsBusyAndAcceptedLater) {
  const Folder folder;
  engine::FaultyStore* faulty = nullptr;
  const auto store = std::make_shared<guard::ExecutionStore>([&] {
    auto made = std::make_shared<engine::FaultyStore>(store::open("sqlite:" + folder.path() + "/guard.db"));
    faulty = made.get();
    return std::shared_ptr<store::Store>(made);
  });
  const GuardAnswer held = store->begin(never("a"));
  ASSERT_EQ(held.begun, GuardBegun::started);
  faulty->blocking = true;
  EXPECT_THROW((void)store->finish(held.hold, {.result = "\"held\""}), StoreBusy);
  faulty->blocking = false;
  EXPECT_EQ(store->finish(held.hold, {.result = "\"held\""}), GuardVerdict::accepted);
}

// The begin was delayed on its way and reaches the server after the call that takes it back.
TEST_F(DoubtTest, OnRedisOneThatIsLateStartsNothing) {
  const guard::RedisPlace place = guard::parse_redis_url(environment("HAPAX_TEST_REDIS_URL"));
  guard::RedisPool pool(place);
  const std::string stem = "late-" + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  const std::vector<std::string> keys{stem + ":record", stem + ":index", stem + ":void"};
  const auto begin = [&](const std::string& token) {
    return pool.run({{.script = &guard::redis::begin(),
                      .keys = keys,
                      .arguments = {"member", "default", "charge", "a", token, "", "", "here:1", "0"}}});
  };
  (void)pool.run({{.script = &guard::redis::take_back(), .keys = keys, .arguments = {"member", "token", "0"}}});
  EXPECT_THROW((void)begin("token"), StoreUnavailable);
  EXPECT_EQ(pool.ask({"EXISTS", keys[0]}).integer(), 0);
  EXPECT_GT(pool.ask({"PTTL", keys[2]}).integer(), 0);
  (void)pool.ask({"DEL", keys[0], keys[1], keys[2]});
}

}  // namespace

}  // namespace hapax::guard_tests
