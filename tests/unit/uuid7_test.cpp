#include "base/uuid7.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace hapax::base {
namespace {

constexpr std::uint64_t all_ones = ~std::uint64_t{0};

TEST(Uuid7, HasTimeVersionAndVariantWhereRfc9562PutsThem) {
  Uuid7State state;
  const Uuid id = next_uuid7(state, 0x017F22E279B0, 0x0123456789ABCDEF);
  EXPECT_EQ(uuid7_milliseconds(id), 0x017F22E279B0U);
  EXPECT_EQ(id.bytes[6] >> 4, 7);
  EXPECT_EQ(id.bytes[8] >> 6, 2);
  EXPECT_EQ(id.to_string(), "017f22e2-79b0-7008-8023-456789abcdef");
}

TEST(Uuid7, GrowsWithinOneMillisecondWhateverTheRandomBits) {
  Uuid7State state;
  Uuid last = next_uuid7(state, 1000, all_ones);
  for (int count = 0; count < 1000; ++count) {
    const Uuid next = next_uuid7(state, 1000, count % 2 == 0 ? 0 : all_ones);
    ASSERT_LT(last, next);
    EXPECT_EQ(uuid7_milliseconds(next), 1000U);
    last = next;
  }
}

TEST(Uuid7, GrowsWhenTheClockStepsBack) {
  Uuid7State state;
  const Uuid before = next_uuid7(state, 5000, all_ones);
  const Uuid after = next_uuid7(state, 10, 0);
  EXPECT_LT(before, after);
  EXPECT_EQ(uuid7_milliseconds(after), 5000U);
}

TEST(Uuid7, AFullCounterBorrowsTheNextMillisecond) {
  Uuid7State state{.last_ms = 7, .counter = (1U << 18) - 2};
  const Uuid last_of_7 = next_uuid7(state, 7, all_ones);
  const Uuid first_of_8 = next_uuid7(state, 7, 0);
  EXPECT_EQ(uuid7_milliseconds(last_of_7), 7U);
  EXPECT_EQ(uuid7_milliseconds(first_of_8), 8U);
  EXPECT_LT(last_of_7, first_of_8);
}

TEST(Uuid7, AtLeast131072FitIntoAMillisecond) {
  Uuid7State state;
  Uuid last = next_uuid7(state, 1, all_ones);
  for (int count = 1; count < 131'072; ++count) { last = next_uuid7(state, 1, all_ones); }
  EXPECT_EQ(uuid7_milliseconds(last), 1U);
}

TEST(Uuid7, ANewOneHasTheMachinesTime) {
  const auto now_ms = [] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const auto before = now_ms();
  const auto made = static_cast<std::int64_t>(uuid7_milliseconds(new_uuid7()));
  const auto after = now_ms();
  EXPECT_GE(made, before);
  EXPECT_LE(made, after + 1000);  // IDs of earlier tests may have used timestamps of the future
}

TEST(Uuid7, ThreadsThatAskAtOnceEachSeeThemGrowAndNoneTwice) {
  constexpr std::size_t per_thread = 20'000;
  std::vector<std::vector<Uuid>> made(4);
  {
    std::vector<std::jthread> threads;
    for (auto& ids : made) {
      threads.emplace_back([&ids] {
        ids.reserve(per_thread);
        for (std::size_t count = 0; count < per_thread; ++count) { ids.push_back(new_uuid7()); }
      });
    }
  }
  const Uuid later = new_uuid7();
  std::set<Uuid> all;
  for (const auto& ids : made) {
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_LT(ids.back(), later);
    all.insert(ids.begin(), ids.end());
  }
  EXPECT_EQ(all.size(), made.size() * per_thread);
}

TEST(Uuid7, AForkedChildDoesNotRepeatItsParents) {
  constexpr std::size_t count = 200;
  (void)new_uuid7();  // fills the random buffer, which the child inherits
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (std::size_t made = 0; made < count; ++made) {
      const Uuid id = new_uuid7();
      if (write(channel[1], id.bytes.data(), id.bytes.size()) != 16) { _exit(1); }
    }
    _exit(0);
  }
  close(channel[1]);
  // Parent and child may share time and counter, so only the random tails are compared.
  std::set<std::vector<std::uint8_t>> tails;
  const auto add_tail = [&tails](const Uuid& id) { tails.emplace(id.bytes.begin() + 9, id.bytes.end()); };
  for (std::size_t made = 0; made < count; ++made) { add_tail(new_uuid7()); }
  std::size_t received = 0;
  Uuid id;
  while (read(channel[0], id.bytes.data(), id.bytes.size()) == 16) {
    add_tail(id);
    ++received;
  }
  close(channel[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(received, count);
  EXPECT_EQ(tails.size(), 2 * count);
}

}  // namespace
}  // namespace hapax::base
