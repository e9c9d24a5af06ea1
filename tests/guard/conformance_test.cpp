// The behaviour of every record store (the rules in hapax/guard_store.hpp).
#include "rig.hpp"

#include <hapax/error.hpp>
#include <hapax/guard_store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

namespace hapax::guard_tests {

namespace {

using namespace std::chrono_literals;

// The test moves time, which also passes by itself: a slow machine's pause between two calls is short beside these.
constexpr Duration takeover = 20s;
constexpr Duration ttl = 20s;
constexpr Duration past = 21s;

class GuardStoreTest : public testing::TestWithParam<RigFactory> {
 protected:
  static GuardKey key(const std::string& text, const std::string& name = "create_invoice") {
    return {"default", name, text};
  }
  static GuardBegin request(const std::string& text) {
    GuardBegin begin;
    begin.key = key(text);
    begin.takeover_after = takeover;
    begin.owner = "here:1";
    return begin;
  }
  static GuardFingerprint print(std::uint8_t byte) {
    GuardFingerprint fingerprint{};
    fingerprint.fill(byte);
    return fingerprint;
  }
  static GuardFinish completed(const std::string& result, std::optional<Duration> kept = {}) {
    return {.end = GuardEnd::completed, .result = result, .ttl = kept};
  }
  static GuardFinish failed(const std::string& message, std::optional<Duration> kept = {}) {
    return {.end = GuardEnd::failed, .error = GuardError{"Declined", message}, .ttl = kept};
  }
  static GuardFinish unlocked() { return {.end = GuardEnd::unlocked, .error = GuardError{"Declined", "no"}}; }

  GuardHold start(const GuardBegin& begin) {
    const GuardAnswer answer = store_->begin(begin);
    EXPECT_EQ(answer.begun, GuardBegun::started);
    return answer.hold;
  }

  std::unique_ptr<Rig> rig_ = GetParam().make();
  GuardStorePtr store_ = rig_->open();
};

TEST_P(GuardStoreTest, TheFirstBeginStartsAndTheNextLearnsThatItIsInProgress) {
  const GuardAnswer first = store_->begin(request("a"));
  ASSERT_EQ(first.begun, GuardBegun::started);
  EXPECT_FALSE(first.taken_over);
  EXPECT_EQ(first.hold.key, key("a"));
  EXPECT_EQ(first.hold.takeover_after, takeover);
  const GuardAnswer second = rig_->open()->begin(request("a"));
  EXPECT_EQ(second.begun, GuardBegun::in_progress);
  EXPECT_EQ(second.record.status, GuardStatus::in_progress);
  EXPECT_EQ(second.record.fence, first.hold.fence);
  EXPECT_EQ(second.record.owner, "here:1");
  ASSERT_TRUE(second.takeover_in);
  EXPECT_LE(*second.takeover_in, takeover);
}

TEST_P(GuardStoreTest, ACompletedCallAnswersWithItsResult) {
  const GuardHold hold = start(request("a"));
  EXPECT_EQ(store_->finish(hold, completed(R"({"total":99.5})")), GuardVerdict::accepted);
  const GuardAnswer again = rig_->open()->begin(request("a"));
  EXPECT_EQ(again.begun, GuardBegun::completed);
  EXPECT_EQ(again.record.result, R"({"total":99.5})");
  EXPECT_TRUE(again.record.completed_at);
  EXPECT_FALSE(again.record.expires_at);
}

TEST_P(GuardStoreTest, ALockedFailureAnswersWithItsError) {
  const GuardHold hold = start(request("a"));
  EXPECT_EQ(store_->finish(hold, failed("no money")), GuardVerdict::accepted);
  const GuardAnswer again = rig_->open()->begin(request("a"));
  EXPECT_EQ(again.begun, GuardBegun::failed);
  EXPECT_EQ(again.record.error, (GuardError{"Declined", "no money"}));
}

TEST_P(GuardStoreTest, AnUnlockedCallMayBeMadeAgainAndItsLateWritesAreRefused) {
  const GuardHold first = start(request("a"));
  EXPECT_EQ(store_->finish(first, unlocked()), GuardVerdict::accepted);
  const GuardHold second = start(request("a"));
  EXPECT_TRUE(first.fence != second.fence || first.token != second.token);
  EXPECT_EQ(store_->finish(first, completed("1")), GuardVerdict::stale);
  EXPECT_THAT(store_->beat(std::vector{first, second}), testing::ElementsAre(0));
  EXPECT_EQ(store_->finish(second, completed("2")), GuardVerdict::accepted);
  EXPECT_EQ(store_->begin(request("a")).record.result, "2");
}

TEST_P(GuardStoreTest, ARepeatedFinishIsAcceptedAgainAndAnotherEndIsNot) {
  const GuardHold hold = start(request("a"));
  EXPECT_EQ(store_->finish(hold, completed("1")), GuardVerdict::accepted);
  EXPECT_EQ(store_->finish(hold, completed("1")), GuardVerdict::accepted);
  EXPECT_EQ(store_->finish(hold, failed("late")), GuardVerdict::stale);
  EXPECT_EQ(store_->finish(hold, unlocked()), GuardVerdict::stale);
  EXPECT_EQ(store_->begin(request("a")).begun, GuardBegun::completed);
}

TEST_P(GuardStoreTest, WithoutHeartbeatACallIsTakenOverWithAHigherFence) {
  const GuardHold first = start(request("a"));
  rig_->advance(past);
  const GuardAnswer second = rig_->open()->begin(request("a"));
  ASSERT_EQ(second.begun, GuardBegun::started);
  EXPECT_TRUE(second.taken_over);
  EXPECT_GT(second.hold.fence, first.fence);
  EXPECT_EQ(store_->finish(first, completed("1")), GuardVerdict::stale);
  EXPECT_EQ(store_->finish(first, unlocked()), GuardVerdict::stale);
  EXPECT_EQ(store_->begin(request("a")).begun, GuardBegun::in_progress);
  EXPECT_EQ(store_->finish(second.hold, completed("2")), GuardVerdict::accepted);
  EXPECT_EQ(store_->begin(request("a")).record.result, "2");
}

TEST_P(GuardStoreTest, AHeartbeatKeepsACall) {
  const GuardHold hold = start(request("a"));
  for (int beat = 0; beat < 4; ++beat) {
    rig_->advance(takeover / 2);
    EXPECT_THAT(store_->beat(std::vector{hold}), testing::IsEmpty());
  }
  EXPECT_EQ(rig_->open()->begin(request("a")).begun, GuardBegun::in_progress);
  EXPECT_EQ(store_->finish(hold, completed("1")), GuardVerdict::accepted);
}

TEST_P(GuardStoreTest, ABeatTellsWhatWasTakenOver) {
  const GuardHold first = start(request("a"));
  rig_->advance(past);
  const GuardHold second = start(request("a"));
  const GuardHold other = start(request("b"));
  EXPECT_THAT(store_->beat(std::vector{second, first, other}), testing::ElementsAre(1));
}

TEST_P(GuardStoreTest, NeverMeansNever) {
  GuardBegin never = request("a");
  never.takeover_after.reset();
  const GuardHold hold = start(never);
  rig_->advance(past);
  // The holder's takeover_after counts, not the second caller's.
  const GuardAnswer second = store_->begin(request("a"));
  EXPECT_EQ(second.begun, GuardBegun::in_progress);
  EXPECT_FALSE(second.takeover_in);
  EXPECT_EQ(store_->finish(hold, completed("1")), GuardVerdict::accepted);
}

TEST_P(GuardStoreTest, ARecordIsGoneWhenItsTtlIsOver) {
  const GuardHold hold = start(request("a"));
  EXPECT_EQ(store_->finish(hold, completed("1", ttl)), GuardVerdict::accepted);
  EXPECT_EQ(store_->begin(request("a")).begun, GuardBegun::completed);
  EXPECT_TRUE(store_->read(key("a"))->expires_at);
  rig_->advance(past);
  EXPECT_FALSE(store_->read(key("a")));
  EXPECT_TRUE(store_->list({}).records.empty());
  EXPECT_EQ(store_->forget(key("a"), true), GuardForgotten::absent);
  const GuardAnswer again = store_->begin(request("a"));
  EXPECT_EQ(again.begun, GuardBegun::started);
  EXPECT_FALSE(again.taken_over);
  EXPECT_EQ(store_->finish(hold, completed("1", ttl)), GuardVerdict::stale);
}

TEST_P(GuardStoreTest, ALockedFailureExpiresToo) {
  const GuardHold hold = start(request("a"));
  EXPECT_EQ(store_->finish(hold, failed("no", ttl)), GuardVerdict::accepted);
  rig_->advance(past);
  EXPECT_EQ(store_->begin(request("a")).begun, GuardBegun::started);
}

TEST_P(GuardStoreTest, ACallInProgressDoesNotExpire) {
  GuardBegin begin = request("a");
  begin.ttl = ttl;
  begin.takeover_after.reset();
  const GuardHold hold = start(begin);
  rig_->advance(past);
  EXPECT_EQ(store_->begin(begin).begun, GuardBegun::in_progress);
  EXPECT_EQ(store_->finish(hold, completed("1", ttl)), GuardVerdict::accepted);
  EXPECT_EQ(store_->begin(begin).begun, GuardBegun::completed);
}

TEST_P(GuardStoreTest, OtherFingerprintsOfOneKeyAreAMismatch) {
  GuardBegin begin = request("a");
  begin.fingerprint = print(1);
  const GuardHold hold = start(begin);
  GuardBegin other = begin;
  other.fingerprint = print(2);
  EXPECT_EQ(store_->begin(other).begun, GuardBegun::mismatch);
  EXPECT_EQ(store_->finish(hold, completed("1")), GuardVerdict::accepted);
  EXPECT_EQ(store_->begin(other).begun, GuardBegun::mismatch);
  EXPECT_EQ(store_->begin(begin).begun, GuardBegun::completed);
  other.fingerprint.reset();
  EXPECT_EQ(store_->begin(other).begun, GuardBegun::completed);
}

TEST_P(GuardStoreTest, AFingerprintIsNotComparedWithWhatBlocksNobody) {
  GuardBegin begin = request("a");
  begin.fingerprint = print(1);
  (void)start(begin);
  rig_->advance(past);
  begin.fingerprint = print(2);
  const GuardHold second = start(begin);
  EXPECT_EQ(store_->finish(second, completed("1", ttl)), GuardVerdict::accepted);
  rig_->advance(past);
  begin.fingerprint = print(3);
  (void)start(begin);
}

TEST_P(GuardStoreTest, NamespaceNameAndKeyAreKeptApart) {
  const auto with = [](const char* namespace_name, const char* name, const char* text) {
    GuardBegin begin;
    begin.key = {namespace_name, name, text};
    return begin;
  };
  for (const GuardBegin& begin :
       {with("n", "a", "bc"), with("n", "ab", "c"), with("na", "b", "c"), with("n", "a:b", "c"), with("n", "a", "b:c"),
        with("n", "a", "../../../etc/passwd"), with("n", "a", "*"), with("n", "a", "[b-c]")}) {
    EXPECT_EQ(store_->begin(begin).begun, GuardBegun::started) << begin.key.name << " " << begin.key.key;
    EXPECT_EQ(store_->begin(begin).begun, GuardBegun::in_progress) << begin.key.name << " " << begin.key.key;
  }
}

TEST_P(GuardStoreTest, ARecordShowsAllOfIt) {
  GuardBegin begin = request("[1,\"Z\xc3\xbcrich\"]");
  begin.fingerprint = print(7);
  const GuardHold hold = start(begin);
  std::optional<GuardRecord> record = store_->read(begin.key);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->key, begin.key);
  EXPECT_EQ(record->status, GuardStatus::in_progress);
  EXPECT_EQ(record->fence, hold.fence);
  EXPECT_EQ(record->owner, "here:1");
  EXPECT_GE(record->heartbeat, record->started_at);
  EXPECT_FALSE(record->completed_at);
  rig_->advance(takeover / 4);
  EXPECT_THAT(store_->beat(std::vector{hold}), testing::IsEmpty());
  EXPECT_GT(store_->read(begin.key)->heartbeat, record->heartbeat);
  EXPECT_EQ(store_->finish(hold, completed("1", 1h)), GuardVerdict::accepted);
  record = store_->read(begin.key);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->status, GuardStatus::completed);
  EXPECT_EQ(record->result, "1");
  EXPECT_FALSE(record->error);
  ASSERT_TRUE(record->completed_at && record->expires_at);
  EXPECT_EQ(*record->expires_at, *record->completed_at + 1h);
}

TEST_P(GuardStoreTest, ResultsAndErrorsAreBytes) {
  const std::string odd = "\"\\u0000 \n {{ }} $$ ' -- \xf0\x9f\x98\x80 " + std::string(100'000, 'x') + "\"";
  const GuardHold hold = start(request("a"));
  EXPECT_EQ(store_->finish(hold, completed(odd)), GuardVerdict::accepted);
  EXPECT_EQ(store_->begin(request("a")).record.result, odd);
  const GuardHold second = start(request("b"));
  EXPECT_EQ(store_->finish(second, failed("line\nline \xf0\x9f\x98\x80 'quoted' \"twice\"")), GuardVerdict::accepted);
  EXPECT_EQ(store_->begin(request("b")).record.error->message, "line\nline \xf0\x9f\x98\x80 'quoted' \"twice\"");
}

TEST_P(GuardStoreTest, ForgettingLetsTheCallBeMadeAgain) {
  EXPECT_EQ(store_->forget(key("a"), false), GuardForgotten::absent);
  const GuardHold hold = start(request("a"));
  EXPECT_EQ(store_->finish(hold, completed("1")), GuardVerdict::accepted);
  EXPECT_EQ(store_->forget(key("a"), false), GuardForgotten::forgotten);
  EXPECT_FALSE(store_->read(key("a")));
  EXPECT_EQ(store_->begin(request("a")).begun, GuardBegun::started);
}

TEST_P(GuardStoreTest, WhatIsInProgressIsForgottenOnlyWhenSaidSo) {
  const GuardHold hold = start(request("a"));
  EXPECT_EQ(store_->forget(key("a"), false), GuardForgotten::in_progress);
  EXPECT_THAT(store_->beat(std::vector{hold}), testing::IsEmpty());
  EXPECT_EQ(store_->forget(key("a"), true), GuardForgotten::forgotten);
  const GuardHold second = start(request("a"));
  EXPECT_EQ(store_->finish(hold, completed("1")), GuardVerdict::stale);
  EXPECT_EQ(store_->finish(second, completed("2")), GuardVerdict::accepted);
}

TEST_P(GuardStoreTest, ListGivesEachRecordOnceByPages) {
  std::set<std::string> expected;
  for (int number = 0; number < 25; ++number) {
    const std::string text = "invoice-" + std::to_string(number);
    const GuardHold hold = start(request(text));
    if (number % 2 == 0) { EXPECT_EQ(store_->finish(hold, completed("1")), GuardVerdict::accepted); }
    expected.insert(text);
  }
  GuardBegin other = request("invoice-1");
  other.key.name = "other";
  (void)start(other);
  other.key = {"elsewhere", "create_invoice", "invoice-1"};
  (void)start(other);

  const auto pages = [&](GuardQuery query) {
    std::multiset<std::string> found;
    for (int page_number = 0; page_number < 100; ++page_number) {
      const GuardPage page = store_->list(query);
      EXPECT_LE(page.records.size(), static_cast<std::size_t>(query.limit));
      for (const GuardRecord& record : page.records) { found.insert(record.key.name + " " + record.key.key); }
      if (!page.next) { break; }
      query.after = *page.next;
    }
    return found;
  };
  std::multiset<std::string> all;
  for (const std::string& text : expected) { all.insert("create_invoice " + text); }
  EXPECT_EQ(pages({.name = "create_invoice", .limit = 7}), all);
  EXPECT_EQ(pages({.name = "create_invoice", .limit = 25}), all);
  EXPECT_EQ(pages({.name = "create_invoice", .status = GuardStatus::completed, .limit = 4}).size(), 13U);
  EXPECT_EQ(pages({.name = "create_invoice", .key_prefix = "invoice-1"}).size(), 11U);
  EXPECT_EQ(pages({.limit = 10}).size(), 26U);
  EXPECT_THAT(pages({.namespace_name = "elsewhere"}), testing::ElementsAre("create_invoice invoice-1"));
  EXPECT_TRUE(pages({.namespace_name = "nowhere"}).empty());
}

TEST_P(GuardStoreTest, WaitChangedEndsWhenTheCallHasEnded) {
  const GuardHold hold = start(request("a"));
  std::atomic<bool> ended{false};
  std::thread waiter([&] {
    rig_->open()->wait_changed(key("a"), hold.fence, 20s);
    ended = true;
  });
  EXPECT_EQ(store_->finish(hold, completed("1")), GuardVerdict::accepted);
  const auto begun = std::chrono::steady_clock::now();
  waiter.join();
  EXPECT_TRUE(ended);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
  // Returns at once if there is nothing to wait for.
  store_->wait_changed(key("a"), hold.fence, 20s);
  store_->wait_changed(key("b"), 1, 20s);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
}

TEST_P(GuardStoreTest, WaitChangedEndsWhenItsTimeIsOver) {
  const GuardHold hold = start(request("a"));
  store_->wait_changed(key("a"), hold.fence, 5ms);
  EXPECT_EQ(store_->finish(hold, completed("1")), GuardVerdict::accepted);
}

TEST_P(GuardStoreTest, OfManyAtOnceOneStarts) {
  constexpr int threads = 8;
  constexpr int keys = 25;
  std::vector<std::atomic<int>> started(keys);
  std::vector<std::thread> askers;
  for (int thread = 0; thread < threads; ++thread) {
    askers.emplace_back([&] {
      const GuardStorePtr store = rig_->open();
      for (int number = 0; number < keys; ++number) {
        GuardBegin begin = request(std::to_string(number));
        begin.takeover_after = 30s;
        if (store->begin(begin).begun == GuardBegun::started) { ++started[static_cast<std::size_t>(number)]; }
      }
    });
  }
  for (std::thread& each : askers) { each.join(); }
  for (const std::atomic<int>& each : started) { EXPECT_EQ(each.load(), 1); }
}

TEST_P(GuardStoreTest, OfManyAtOnceOneTakesOver) {
  (void)start(request("a"));
  rig_->advance(past);
  std::atomic<int> started{0};
  std::vector<std::thread> askers;
  for (int thread = 0; thread < 8; ++thread) {
    askers.emplace_back([&] {
      if (rig_->open()->begin(request("a")).begun == GuardBegun::started) { ++started; }
    });
  }
  for (std::thread& each : askers) { each.join(); }
  EXPECT_EQ(started.load(), 1);
}

TEST_P(GuardStoreTest, SweepingRemovesOnlyWhatHasExpired) {
  const GuardHold first = start(request("a"));
  EXPECT_EQ(store_->finish(first, completed("1", ttl)), GuardVerdict::accepted);
  const GuardHold second = start(request("b"));
  EXPECT_EQ(store_->finish(second, completed("2")), GuardVerdict::accepted);
  const GuardHold third = start(request("c"));
  rig_->advance(past);
  (void)store_->beat(std::vector{third});
  EXPECT_LE(store_->sweep(100), 1U);
  EXPECT_EQ(store_->begin(request("b")).record.result, "2");
  EXPECT_EQ(store_->begin(request("c")).begun, GuardBegun::in_progress);
}

// A store may guess from a guard's last calls that the next call is a first call too. A wrong guess still finds the
// record.
TEST_P(GuardStoreTest, AfterManyFirstCallsEachKindOfRecordIsStillMet) {
  int calls = 0;
  const auto many_firsts = [&] {
    for (int each = 0; each < 10; ++each) {
      EXPECT_EQ(store_->finish(start(request("first " + std::to_string(++calls))), completed("0")),
                GuardVerdict::accepted);
    }
  };
  GuardBegin printed = request("completed");
  printed.fingerprint = print(1);
  EXPECT_EQ(store_->finish(start(printed), completed("1")), GuardVerdict::accepted);
  EXPECT_EQ(store_->finish(start(request("failed")), failed("no money")), GuardVerdict::accepted);
  EXPECT_EQ(store_->finish(start(request("expiring")), completed("1", ttl)), GuardVerdict::accepted);
  many_firsts();
  const GuardAnswer done = store_->begin(printed);
  EXPECT_EQ(done.begun, GuardBegun::completed);
  EXPECT_EQ(done.record.result, "1");
  many_firsts();
  printed.fingerprint = print(2);
  EXPECT_EQ(store_->begin(printed).begun, GuardBegun::mismatch);
  many_firsts();
  EXPECT_EQ(store_->begin(request("failed")).begun, GuardBegun::failed);
  const GuardHold held = start(request("held"));
  many_firsts();
  const GuardAnswer busy = store_->begin(request("held"));
  EXPECT_EQ(busy.begun, GuardBegun::in_progress);
  EXPECT_EQ(busy.record.fence, held.fence);
  EXPECT_TRUE(busy.takeover_in);
  rig_->advance(past);
  many_firsts();
  const GuardAnswer taken = store_->begin(request("held"));
  EXPECT_EQ(taken.begun, GuardBegun::started);
  EXPECT_TRUE(taken.taken_over);
  EXPECT_EQ(store_->finish(held, completed("late")), GuardVerdict::stale);
  many_firsts();
  const GuardAnswer anew = store_->begin(request("expiring"));
  EXPECT_EQ(anew.begun, GuardBegun::started);
  EXPECT_FALSE(anew.taken_over);
}

TEST_P(GuardStoreTest, RecordsThatExpireAndRecordsThatDoNotAreMetBesideEachOther) {
  constexpr int records = 40;
  const auto named = [](int number) { return request(std::to_string(number)); };
  const auto kept = [](int number) { return number % 2 == 0 ? std::nullopt : std::optional<Duration>(1h); };
  for (int each = 0; each < records; ++each) {
    const std::string result = std::to_string(each);
    EXPECT_EQ(store_->finish(start(named(each)), completed(result, kept(each))), GuardVerdict::accepted);
  }
  const auto meet_all = [&](int step) {
    for (int each = 0; each < records; each += step) {
      const GuardAnswer again = store_->begin(named(each));
      EXPECT_EQ(again.begun, GuardBegun::completed);
      EXPECT_EQ(again.record.result, std::to_string(each));
      EXPECT_EQ(again.record.expires_at.has_value(), kept(each).has_value());
    }
  };
  meet_all(1);
  meet_all(2);  // with records that never expire
  meet_all(1);
}

TEST_P(GuardStoreTest, ItSaysWhatItIs) { EXPECT_FALSE(store_->info().backend.empty()); }

INSTANTIATE_TEST_SUITE_P(Stores, GuardStoreTest, testing::ValuesIn(all_rigs()),
                         [](const auto& each) { return each.param.name; });

}  // namespace

}  // namespace hapax::guard_tests
