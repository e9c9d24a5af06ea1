// Many threads, many keys: one effect per key, and histories that a single record could have produced.
#include "history.hpp"
#include "rig.hpp"

#include <hapax/error.hpp>
#include <hapax/guard.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <random>
#include <thread>

namespace hapax::guard_tests {

namespace {

using namespace std::chrono_literals;

constexpr int crowd = 64;
constexpr int keys = 10'000;

std::uint64_t fresh_seed() {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;
  return seed;
}

std::int64_t nanoseconds() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

void in_crowd(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < crowd; ++thread) { threads.emplace_back(work, thread); }
  for (std::thread& each : threads) { each.join(); }
}

// Calls until a store is not busy: the stores of the crowd wait for one another's syncs, on a stalling disk for longer
// than a store waits. A call that threw StoreBusy has changed nothing.
template <class Call>
auto patiently(const Call& call) {
  for (;;) {
    try {
      return call();
    } catch (const StoreBusy&) {
      std::this_thread::yield();
    }
  }
}

TEST(CrowdTest, SixtyFourThreadsOnTenThousandRandomKeysHaveOneEffectAKey) {
  const std::uint64_t seed = fresh_seed();
  std::vector<std::atomic<int>> effects(keys);
  std::atomic<int> wrong{0};
  GuardOptions options;
  options.store = memory_guard_store();
  const auto act = idempotent("act", options,
                              [&](std::int64_t key) { return key * 1000 + ++effects[static_cast<std::size_t>(key)]; });
  in_crowd([&](int thread) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(thread));
    for (int call = 0; call < keys; ++call) {
      const auto key = static_cast<std::int64_t>(random() % keys);
      if (act(key) != key * 1000 + 1) { ++wrong; }
    }
  });
  EXPECT_EQ(wrong, 0);
  for (const std::atomic<int>& each : effects) { EXPECT_LE(each, 1); }
  for (int key = 0; key < keys; ++key) { EXPECT_EQ(act(key), key * 1000 + 1); }
}

class LinearTest : public testing::TestWithParam<RigFactory> {};

// Every thread holds keys for a moment, completes some, unlocks others, and repeats unlocks, which are then stale.
TEST_P(LinearTest, HistoriesAreThoseOfASingleRecord) {
  const std::uint64_t seed = fresh_seed();
  const std::unique_ptr<Rig> rig = GetParam().make();
  const bool quick = GetParam().name == "memory" || GetParam().name == "custom";
  const int space = quick ? keys : 50;
  const int calls = quick ? 1000 : 8;
  std::vector<std::vector<std::pair<int, Happened>>> told(crowd);
  in_crowd([&](int thread) {
    const GuardStorePtr store = patiently([&] { return rig->open(); });
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(thread));
    auto& mine = told[static_cast<std::size_t>(thread)];
    for (int call = 0; call < calls; ++call) {
      const int number = static_cast<int>(random() % static_cast<std::uint64_t>(space));
      GuardBegin begin;
      begin.key = {"default", "act", std::to_string(number)};
      Happened asked;
      asked.begun = nanoseconds();
      const GuardAnswer answer = patiently([&] { return store->begin(begin); });
      asked.ended = nanoseconds();
      const bool started = answer.begun == GuardBegun::started;
      asked.what = started                                   ? Happened::What::started
                   : answer.begun == GuardBegun::in_progress ? Happened::What::in_progress
                                                             : Happened::What::completed;
      asked.fence = started ? answer.hold.fence : answer.record.fence;
      mine.emplace_back(number, asked);
      if (!started) { continue; }
      // In stores that tell holds apart by tokens, fences may restart after an unlock; histories compare fences only.
      const bool unlocks = quick && random() % 2 == 0;
      // After an unlock the second offer is stale.
      for (int offer = 0; offer < (unlocks ? 2 : 1); ++offer) {
        Happened end;
        end.what = unlocks ? Happened::What::unlock : Happened::What::finish;
        end.fence = answer.hold.fence;
        end.begun = nanoseconds();
        GuardFinish finish;
        finish.end = unlocks ? GuardEnd::unlocked : GuardEnd::completed;
        end.accepted = patiently([&] { return store->finish(answer.hold, finish); }) == GuardVerdict::accepted;
        end.ended = nanoseconds();
        mine.emplace_back(number, end);
      }
    }
  });
  std::vector<std::vector<Happened>> histories(static_cast<std::size_t>(space));
  for (const auto& thread : told) {
    for (const auto& [number, happened] : thread) { histories[static_cast<std::size_t>(number)].push_back(happened); }
  }
  for (const std::vector<Happened>& each : histories) { ASSERT_TRUE(History::is_linearizable(each)); }
}

INSTANTIATE_TEST_SUITE_P(Stores, LinearTest, testing::ValuesIn(all_rigs()),
                         [](const auto& each) { return each.param.name; });

TEST(HistoryTest, TheCheckerBelievesWhatIsRightAndNothingElse) {
  using What = Happened::What;
  const Happened first{What::started, 1, true, 0, 10};
  const Happened overlapping{What::in_progress, 1, true, 5, 40};
  const Happened end{What::finish, 1, true, 20, 30};
  const Happened later{What::completed, 1, true, 35, 50};
  EXPECT_TRUE(History::is_linearizable({first, overlapping, end, later}));
  // Not linearizable: a second start while the first hold lasts; an answer before its time; an accepted stale end.
  EXPECT_FALSE(History::is_linearizable({first, {What::started, 2, true, 11, 12}, end}));
  EXPECT_FALSE(History::is_linearizable({first, {What::completed, 1, true, 11, 15}, end}));
  EXPECT_FALSE(History::is_linearizable({first, {What::unlock, 2, true, 11, 15}, end}));
  EXPECT_FALSE(History::is_linearizable({first, end, {What::in_progress, 1, true, 35, 50}}));
}

}  // namespace

}  // namespace hapax::guard_tests
