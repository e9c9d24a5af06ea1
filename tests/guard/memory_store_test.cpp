// Behaviour of the memory store alone: its bound.
#include <hapax/error.hpp>

#include "base/clock.hpp"
#include "guard/memory_store.hpp"

#include <gtest/gtest.h>

namespace hapax::guard_tests {

namespace {

using namespace std::chrono_literals;

class MemoryStoreTest : public testing::Test {
 protected:
  GuardHold start(guard::MemoryGuardStore& store, int number) {
    GuardBegin begin;
    begin.key = {"default", "f", std::to_string(number)};
    const GuardAnswer answer = store.begin(begin);
    EXPECT_EQ(answer.begun, GuardBegun::started);
    return answer.hold;
  }
  static GuardFinish completed(std::optional<Duration> ttl = {}) { return {.result = "1", .ttl = ttl}; }
  static bool knows(guard::MemoryGuardStore& store, int number) {
    return store.read({"default", "f", std::to_string(number)}).has_value();
  }

  base::ManualClock clock_{Time(1h)};
};

TEST_F(MemoryStoreTest, TheRecordsThatEndedFirstMakeRoom) {
  guard::MemoryGuardStore store({.max_records = 10}, &clock_);
  for (int number = 0; number < 25; ++number) {
    EXPECT_EQ(store.finish(start(store, number), completed()), GuardVerdict::accepted);
  }
  EXPECT_EQ(store.size(), 10U);
  EXPECT_FALSE(knows(store, 14));
  EXPECT_TRUE(knows(store, 15));
  EXPECT_TRUE(knows(store, 24));
}

TEST_F(MemoryStoreTest, WhatIsInProgressIsNeverDropped) {
  guard::MemoryGuardStore store({.max_records = 10}, &clock_);
  const GuardHold held = start(store, 0);
  for (int number = 1; number < 50; ++number) {
    EXPECT_EQ(store.finish(start(store, number), completed()), GuardVerdict::accepted);
  }
  EXPECT_EQ(store.finish(held, completed()), GuardVerdict::accepted);
  guard::MemoryGuardStore full({.max_records = 3}, &clock_);
  for (int number = 0; number < 3; ++number) { (void)start(full, number); }
  GuardBegin begin;
  begin.key = {"default", "f", "one too many"};
  EXPECT_THROW((void)full.begin(begin), StoreUnavailable);
}

TEST_F(MemoryStoreTest, ExpiredOnesMakeRoomBeforeThoseThatEndedFirst) {
  guard::MemoryGuardStore store({.max_records = 10}, &clock_);
  for (int number = 0; number < 10; ++number) {
    const std::optional<Duration> ttl = number == 7 ? std::optional<Duration>(1s) : std::nullopt;
    EXPECT_EQ(store.finish(start(store, number), completed(ttl)), GuardVerdict::accepted);
  }
  clock_.advance(2s);
  EXPECT_EQ(store.finish(start(store, 10), completed()), GuardVerdict::accepted);
  EXPECT_TRUE(knows(store, 0));
  EXPECT_FALSE(knows(store, 7));
  EXPECT_EQ(store.size(), 10U);
  // A record that is begun again after its ttl is no longer among the expiring ones.
  EXPECT_EQ(store.finish(start(store, 7), completed(1s)), GuardVerdict::accepted);
  EXPECT_FALSE(knows(store, 0));
  clock_.advance(2s);
  const GuardHold again = start(store, 7);
  clock_.advance(2s);
  EXPECT_EQ(store.sweep(10), 0U);
  EXPECT_EQ(store.finish(again, completed()), GuardVerdict::accepted);
  EXPECT_TRUE(knows(store, 7));
}

TEST_F(MemoryStoreTest, ExpiredRecordsGoByThemselves) {
  guard::MemoryGuardStore store({.max_records = 1000}, &clock_);
  for (int number = 0; number < 500; ++number) {
    EXPECT_EQ(store.finish(start(store, number), completed(1s)), GuardVerdict::accepted);
  }
  clock_.advance(2s);
  for (int number = 1000; number < 1300; ++number) {
    EXPECT_EQ(store.finish(start(store, number), completed(1s)), GuardVerdict::accepted);
  }
  EXPECT_LT(store.size(), 400U);
  clock_.advance(2s);
  EXPECT_GT(store.sweep(10'000), 0U);
  EXPECT_EQ(store.size(), 0U);
}

TEST_F(MemoryStoreTest, NoRoomAtAllIsRefused) {
  EXPECT_THROW((void)memory_guard_store({.max_records = 0}), InvalidArgument);
}

}  // namespace

}  // namespace hapax::guard_tests
