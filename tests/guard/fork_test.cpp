// A guard in a forked child: it inherits neither locks of the parent's threads nor holds of the parent's calls.
#include "rig.hpp"

#include <hapax/guard.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

// These tests start threads in a child that was forked while other threads ran.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace hapax::guard_tests {

namespace {

using namespace std::chrono_literals;

// AddressSanitizer of g++ 12 forks while another thread holds a lock of its allocator: the child then hangs in malloc,
// whatever hapax does. In other builds a child that hangs is a failure.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool allocator_may_hang = true;
#else
constexpr bool allocator_may_hang = false;
#endif
constexpr int hung_child = 128;

// Runs `work` in a forked child and returns its exit code: 0 for true, 1 for false, 2 for an exception, hung_child if a
// signal ended the child.
int in_child(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    // Ends a child that hangs, so that the test does not.
    ::alarm(60);
    int code = 2;
    try {
      code = work() ? 0 : 1;
    } catch (...) { code = 2; }
    ::_exit(code);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) { return 3; }
  return WIFEXITED(status) ? WEXITSTATUS(status) : hung_child;
}

TEST(ForkTest, AChildThatReturnsFromItsParentsCallHoldsNothing) {
  const Folder folder;
  GuardOptions options;
  options.store = file_guard_store(folder.path());
  int child_code = -1;
  const auto call = idempotent("call", options, [&](int number) {
    const pid_t child = ::fork();
    if (child == 0) { return number + 100; }
    int status = 0;
    ::waitpid(child, &status, 0);
    child_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return number;
  });
  const pid_t parent = ::getpid();
  int answer = 0;
  try {
    answer = call(1);
  } catch (const StaleLease&) {
    if (::getpid() != parent) { ::_exit(7); }
    throw;
  }
  if (::getpid() != parent) { ::_exit(8); }
  EXPECT_EQ(child_code, 7);
  EXPECT_EQ(answer, 1);
  EXPECT_EQ(call(1), 1);
}

TEST(ForkTest, AChildUsesTheGuardsOfItsParent) {
  const Folder folder;
  for (const GuardStorePtr& store : {memory_guard_store(), file_guard_store(folder.path())}) {
    GuardOptions options;
    options.store = store;
    const auto twice = idempotent("twice", options, [](int number) { return 2 * number; });
    EXPECT_EQ(twice(1), 2);
    EXPECT_EQ(in_child([&] { return twice(1) == 2 && twice(2) == 4 && twice(2) == 4; }), 0);
    EXPECT_EQ(twice(2), 4);
    // In a shared store the child has written the record; a memory store has not seen the child's call.
    EXPECT_EQ(twice.record(2)->owner.ends_with(std::to_string(::getpid())), !store->info().shared);
  }
}

class ForkedStoreTest : public testing::TestWithParam<RigFactory> {};

// A child's calls carry its own name; in a shared store the parent sees them.
TEST_P(ForkedStoreTest, AChildUsesTheStoreOfItsParentOrIsToldThatItCannot) {
  const std::unique_ptr<Rig> rig = GetParam().make();
  GuardOptions options;
  options.store = rig->open();
  const auto twice = idempotent("twice", options, [](int number) { return 2 * number; });
  EXPECT_EQ(twice(1), 2);
  if (GetParam().name == "sqlite") {
    EXPECT_EQ(in_child([&] {
                try {
                  (void)twice(2);
                  return false;
                } catch (const UsageError&) { return true; }
              }),
              0);
  } else {
    EXPECT_EQ(in_child([&] { return twice(1) == 2 && twice(2) == 4 && twice(2) == 4; }), 0);
  }
  EXPECT_EQ(twice(2), 4);
  const bool is_the_childs = !twice.record(2)->owner.ends_with(":" + std::to_string(::getpid()));
  EXPECT_EQ(is_the_childs, !rig->url().empty() && GetParam().name != "sqlite");
  EXPECT_EQ(twice(3), 6);
}

class ForkedCallTest : public testing::TestWithParam<RigFactory> {};

// A child that is forked inside a call holds nothing of the call, and its end changes nothing.
TEST_P(ForkedCallTest, ForksAmidCallsLeaveTheParentsHolds) {
  const std::unique_ptr<Rig> rig = GetParam().make();
  GuardOptions options;
  options.store = rig->open();
  const auto other = idempotent("other", options, [](int number) { return number; });
  int child_code = -1;
  const auto call = idempotent("call", options, [&](int number) {
    child_code = in_child([&] { return other(number) == number; });
    return number;
  });
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(call(round), round);
    EXPECT_EQ(child_code, 0);
    EXPECT_EQ(call(round), round);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, ForkedStoreTest, testing::ValuesIn(all_rigs()),
                         [](const auto& each) { return each.param.name; });

// A SQLite store cannot be used after a fork.
std::vector<RigFactory> rigs_for_children() {
  std::vector<RigFactory> rigs = all_rigs();
  std::erase_if(rigs, [](const RigFactory& rig) { return rig.name == "sqlite"; });
  return rigs;
}
INSTANTIATE_TEST_SUITE_P(Stores, ForkedCallTest, testing::ValuesIn(rigs_for_children()),
                         [](const auto& each) { return each.param.name; });

TEST(ForkTest, ForksAmidCallsOfOtherThreadsLeaveNothingLocked) {
  const Folder folder;
  const GuardStorePtr memory = memory_guard_store();
  GuardOptions options;
  options.store = memory;
  options.cache_records = 100;
  const auto quick = idempotent("quick", options, [](int number) { return number; });
  // Long enough for a disk that stalls for seconds; a lock that a fork has left behind stays for ever.
  options.store = file_guard_store(folder.path(), {.lock_timeout = std::chrono::minutes(2)});
  const auto durable = idempotent("durable", options, [](int number) { return number; });
  const auto later = idempotent(
      "later", options, [](int number) { return std::async(std::launch::deferred, [number] { return number; }); });
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int thread = 0; thread < 3; ++thread) {
    busy.emplace_back([&, thread] {
      for (int number = 0; !stop; ++number) {
        (void)quick(number % 500 + thread);
        if (thread == 0) { (void)durable(number); }
        if (thread == 1) { (void)later(number).get(); }
      }
    });
  }
  constexpr int rounds = 20;
  int hung = 0;
  for (int round = 0; round < rounds; ++round) {
    const int fresh = 1'000'000 + round;
    const int code = in_child([&] {
      return quick(fresh) == fresh && durable(fresh) == fresh && later(fresh).get() == fresh && durable(fresh) == fresh;
    });
    if (allocator_may_hang && code == hung_child) {
      ++hung;
      continue;
    }
    EXPECT_EQ(code, 0);
  }
  EXPECT_LT(hung, rounds / 2);
  stop = true;
  for (std::thread& each : busy) { each.join(); }
}

TEST(ForkTest, AChildsHeartbeatIsItsOwn) {
  const Folder folder;
  GuardOptions options;
  options.store = file_guard_store(folder.path());
  options.takeover_after = 1500ms;
  const auto slow = idempotent("slow", options, [&](int number) {
    // As long as several beats.
    std::this_thread::sleep_for(number == 1 ? 0ms : 4000ms);
    return number;
  });
  EXPECT_EQ(slow(1), 1);  // starts the parent's heartbeat
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    int code = 1;
    try {
      code = slow(2) == 2 ? 0 : 1;
    } catch (...) { code = 2; }
    ::_exit(code);
  }
  // The child's call is never taken over, because the child beats.
  GuardBegin begin;
  begin.key = {"default", "slow", "[2]"};
  begin.takeover_after = 1500ms;
  while (!options.store->read(begin.key)) { std::this_thread::sleep_for(1ms); }
  GuardBegun begun = GuardBegun::in_progress;
  while (begun == GuardBegun::in_progress) {
    begun = options.store->begin(begin).begun;
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(begun, GuardBegun::completed);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace

}  // namespace hapax::guard_tests
