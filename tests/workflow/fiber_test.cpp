// Fibers: suspension, exceptions in flight, stacks.
#include "base/fiber.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace hapax::workflow {

namespace {

constexpr std::size_t stack_bytes = 256 << 10;

TEST(Fiber, GoesOnWhereItStopped) {
  base::StackPool pool(stack_bytes);
  std::string trace;
  base::Fiber* self = nullptr;
  base::Fiber fiber(pool, [&] {
    trace += "a";
    self->suspend();
    trace += "b";
    self->suspend();
    trace += "c";
  });
  self = &fiber;
  fiber.resume("test");
  trace += "1";
  fiber.resume("test");
  trace += "2";
  EXPECT_FALSE(fiber.done());
  fiber.resume("test");
  EXPECT_TRUE(fiber.done());
  EXPECT_EQ(trace, "a1b2c");
}

TEST(Fiber, OneThatWasNeverBegunIsDestroyedQuietly) {
  base::StackPool pool(stack_bytes);
  bool ran = false;
  {
    const base::Fiber fiber(pool, [&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

TEST(Fiber, FibersInsideCatchBlocksRethrowTheirOwnExceptions) {
  base::StackPool pool(stack_bytes);
  std::vector<std::string> caught;
  std::vector<std::unique_ptr<base::Fiber>> fibers;
  for (int i = 0; i < 50; ++i) {
    fibers.push_back(std::make_unique<base::Fiber>(pool, [&, i] {
      try {
        try {
          throw std::runtime_error("fiber " + std::to_string(i));
        } catch (...) {
          fibers[static_cast<std::size_t>(i)]->suspend();
          throw;
        }
      } catch (const std::exception& error) { caught.emplace_back(error.what()); }
    }));
  }
  for (const auto& fiber : fibers) {
    fiber->resume("test");
    EXPECT_TRUE(fiber->in_catch());
  }
  EXPECT_EQ(std::current_exception(), nullptr) << "none of it is this side's";
  for (const auto& fiber : fibers) { fiber->resume("test"); }
  ASSERT_EQ(caught.size(), 50U);
  for (int i = 0; i < 50; ++i) { EXPECT_EQ(caught[static_cast<std::size_t>(i)], "fiber " + std::to_string(i)); }
}

TEST(Fiber, AnExceptionOutsideIsNotSeenInside) {
  base::StackPool pool(stack_bytes);
  bool seen = true;
  int uncaught = -1;
  try {
    throw std::runtime_error("outside");
  } catch (...) {
    base::Fiber fiber(pool, [&] {
      seen = std::current_exception() != nullptr;
      uncaught = std::uncaught_exceptions();
    });
    fiber.resume("test");
    EXPECT_NE(std::current_exception(), nullptr);
  }
  EXPECT_FALSE(seen);
  EXPECT_EQ(uncaught, 0);
}

TEST(Fiber, KnowsHowMuchStackIsLeft) {
  base::StackPool pool(stack_bytes);
  std::size_t left = 0;
  std::size_t deeper = 0;
  base::Fiber* self = nullptr;
  base::Fiber fiber(pool, [&] {
    left = self->stack_left();
    const auto look = [&](volatile char* used) { deeper = self->stack_left() + (used[0] == 1 ? 0 : 1); };
    volatile char room[32 << 10];  // NOLINT
    room[0] = 1;
    look(room);
  });
  self = &fiber;
  fiber.resume("test");
  EXPECT_LT(left, stack_bytes);
  EXPECT_GT(left, stack_bytes / 2);
  EXPECT_LE(deeper, left);
}

TEST(Fiber, StacksAreUsedAgain) {
  base::StackPool pool(stack_bytes);
  const char* first = nullptr;
  const char* second = nullptr;
  for (const char** where : {&first, &second}) {
    base::Fiber fiber(pool, [where] {
      static thread_local char anything;
      const char here = anything;
      *where = &here;  // NOLINT: only compared
    });
    fiber.resume("test");
  }
  EXPECT_LT(std::abs(first - second), 4096);
}

using FiberDeath = ::testing::Test;

TEST(FiberDeath, AHitOnTheGuardNamesTheWorkflow) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const base::AlternateStack alternate;
        base::StackPool pool(stack_bytes);
        base::Fiber fiber(pool, [] {
          const auto dig = [](const auto& again, int depth) -> int {
            volatile char room[4096];  // NOLINT
            room[0] = static_cast<char>(depth);
            return depth > 1'000'000 ? 0 : again(again, depth + 1) + room[0];
          };
          volatile int depth = dig(dig, 0);
          (void)depth;
        });
        fiber.resume("greedy_workflow");
      },
      "greedy_workflow.*used up its stack|stack-overflow");
}

}  // namespace

}  // namespace hapax::workflow
