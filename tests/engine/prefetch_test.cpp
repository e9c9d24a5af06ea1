#include "engine/prefetch.hpp"

#include <gtest/gtest.h>

namespace hapax::engine {
namespace {

TEST(Prefetch, IsOneAThreadWhileNothingIsKnown) { EXPECT_EQ(prefetch_target({.threads = 8}), 8); }

TEST(Prefetch, IsOneAThreadForLongHandlers) { EXPECT_EQ(prefetch_target({.threads = 8, .runs_per_second = 0.8}), 8); }

TEST(Prefetch, CoversTheHorizonForQuickOnes) {
  EXPECT_EQ(prefetch_target({.threads = 8, .runs_per_second = 1000}), 8 + 75);
}

TEST(Prefetch, HasACeiling) {
  EXPECT_EQ(prefetch_target({.threads = 8, .runs_per_second = 1e9}), prefetch_cap);
  EXPECT_EQ(prefetch_target({.threads = 5000, .runs_per_second = 1}), 5000) << "but never below the threads";
}

TEST(Prefetch, TheUsersNumberCounts) {
  EXPECT_EQ(prefetch_target({.threads = 8, .runs_per_second = 1e9, .fixed = 1}), 1);
}

}  // namespace
}  // namespace hapax::engine
