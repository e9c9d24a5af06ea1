#include "store/postgres/spin_wait.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace hapax::store::postgres {

namespace {

class Ends {
 public:
  Ends() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  ~Ends() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  [[nodiscard]] int socket() const { return ends_[0]; }
  void send() const { EXPECT_EQ(write(ends_[1], "x", 1), 1); }

 private:
  std::array<int, 2> ends_{};
};

// On a single processor no thread polls.
const bool looks = std::thread::hardware_concurrency() > 1;

TEST(SpinWaitTest, WhatIsThereIsFoundAtOnceAndStaysToBeRead) {
  const Ends ends;
  ends.send();
  SpinWait wait;
  EXPECT_EQ(wait.poll_briefly(ends.socket()), looks);
  EXPECT_EQ(wait.poll_briefly(ends.socket()), looks);
}

TEST(SpinWaitTest, AfterLooksInVainEverMoreAreLeftOut) {
  const Ends ends;
  SpinWait wait;
  EXPECT_FALSE(wait.poll_briefly(ends.socket()));
  ends.send();
  EXPECT_FALSE(wait.poll_briefly(ends.socket())) << "one is left out";
  EXPECT_EQ(wait.poll_briefly(ends.socket()), looks);
  EXPECT_EQ(wait.poll_briefly(ends.socket()), looks) << "found: none is left out any more";
}

TEST(SpinWaitTest, PausesGrow) {
  const Ends ends;
  SpinWait wait;
  for (const int pause : {1, 3, 7}) {
    EXPECT_FALSE(wait.poll_briefly(ends.socket()));
    for (int i = 0; i < pause; ++i) { EXPECT_FALSE(wait.poll_briefly(ends.socket())); }
  }
  ends.send();
  EXPECT_EQ(wait.poll_briefly(ends.socket()), looks);
}

TEST(SpinWaitTest, OneEndedByTheOtherSideIsReadable) {
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  close(pair[1]);
  SpinWait wait;
  EXPECT_EQ(wait.poll_briefly(pair[0]), looks);
  close(pair[0]);
}

// A thread that finds another one polling sleeps at once, and its sleep does not count as a failed poll.
TEST(SpinWaitTest, ManyAtOnceAllComeBack) {
  std::atomic<int> found{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const Ends ends;
      SpinWait wait;
      ends.send();
      for (int round = 0; round < 1000; ++round) { found += wait.poll_briefly(ends.socket()) ? 1 : 0; }
    });
  }
  threads.clear();
  EXPECT_EQ(found.load() > 0, looks);
}

}  // namespace

}  // namespace hapax::store::postgres
