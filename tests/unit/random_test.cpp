#include "base/random.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace hapax::base {
namespace {

TEST(SeededRandom, GivesSplitmix64sPublishedNumbers) {
  SeededRandom random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
  EXPECT_EQ(random.next(), 9817491932198370423ULL);
}

TEST(SeededRandom, TheSameSeedGivesTheSameNumbers) {
  SeededRandom one(42);
  SeededRandom other(42);
  SeededRandom different(43);
  for (int count = 0; count < 100; ++count) {
    const std::uint64_t number = one.next();
    EXPECT_EQ(number, other.next());
    EXPECT_NE(number, different.next());
  }
}

TEST(Random, FractionsAreFromZeroToBelowOneAndSpreadOut) {
  SeededRandom random(7);
  int low = 0;
  for (int count = 0; count < 10'000; ++count) {
    const double fraction = random.fraction();
    ASSERT_GE(fraction, 0.0);
    ASSERT_LT(fraction, 1.0);
    low += fraction < 0.5 ? 1 : 0;
  }
  EXPECT_NEAR(low, 5000, 300);
}

TEST(SystemRandom, GivesNoNumberTwiceInAnyThread) {
  constexpr std::size_t per_thread = 1000;
  std::vector<std::vector<std::uint64_t>> numbers(3);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : numbers) {
      threads.emplace_back([&mine] {
        SystemRandom random;
        for (std::size_t count = 0; count < per_thread; ++count) { mine.push_back(random.next()); }
      });
    }
  }
  std::set<std::uint64_t> all;
  for (const auto& mine : numbers) { all.insert(mine.begin(), mine.end()); }
  EXPECT_EQ(all.size(), numbers.size() * per_thread);
}

}  // namespace
}  // namespace hapax::base
