#include "engine/batcher.hpp"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <stdexcept>
#include <thread>

namespace hapax::engine {
namespace {

using Doubler = Batcher<int, int>;

// A store call that a test holds back.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    condition_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    condition_.notify_all();
    condition_.wait(lock, [this] { return open_; });
  }
  void await_arrival() {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [this] { return arrived_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool open_ = false;
  int arrived_ = 0;
};

std::vector<int> doubled(std::span<int> requests) {
  std::vector<int> replies;
  for (const int request : requests) {
    replies.push_back(2 * request);
  }
  return replies;
}

TEST(BatcherTest, ACallerAloneRunsTheCallOnItsOwnThread) {
  std::thread::id ran_on;
  Doubler batcher({.flush = [&](std::span<int> requests) {
    ran_on = std::this_thread::get_id();
    return doubled(requests);
  }});
  EXPECT_EQ(batcher.submit(21), 42);
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(BatcherTest, WhoComesDuringACallGoesTogetherWithTheNext) {
  Gate gate;
  std::mutex mutex;
  std::vector<std::size_t> sizes;
  Doubler batcher({.flush = [&](std::span<int> requests) {
    {
      const std::lock_guard lock(mutex);
      sizes.push_back(requests.size());
    }
    gate.pass();
    return doubled(requests);
  }});
  std::jthread first([&] { EXPECT_EQ(batcher.submit(1), 2); });
  gate.await_arrival();
  std::vector<std::future<int>> later;
  for (int i = 0; i < 5; ++i) {
    auto promise = std::make_shared<std::promise<int>>();
    later.push_back(promise->get_future());
    batcher.submit_async(10 + i, [promise](int reply, const std::exception_ptr&) { promise->set_value(reply); });
  }
  gate.open();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(later[static_cast<std::size_t>(i)].get(), 2 * (10 + i));
  }
  first.join();
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 5}));
}

TEST(BatcherTest, ManyThreadsGetEachTheirOwnAnswer) {
  std::atomic<int> calls = 0;
  Doubler batcher({.flush = [&](std::span<int> requests) {
    ++calls;
    return doubled(requests);
  }});
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const int value = t * 100000 + i;
        wrong += batcher.submit(value) != 2 * value;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_LE(calls.load(), 16000);
}

TEST(BatcherTest, BatchesAreBounded) {
  Gate gate;
  std::atomic<std::size_t> largest = 0;
  std::atomic<int> answered = 0;
  {
    Doubler batcher({.flush =
                         [&](std::span<int> requests) {
                           largest = std::max(largest.load(), requests.size());
                           gate.pass();
                           return doubled(requests);
                         },
                     .max_items = 3});
    for (int i = 0; i < 10; ++i) {
      batcher.submit_async(i, [&](int, const std::exception_ptr&) { ++answered; });
    }
    gate.open();
  }
  EXPECT_EQ(answered.load(), 10) << "the destructor answers what is waiting";
  EXPECT_LE(largest.load(), 3U);
}

TEST(BatcherTest, AStoreErrorGoesToEverybodyOfTheBatch) {
  Gate gate;
  std::atomic<int> calls = 0;
  Doubler batcher({.flush = [&](std::span<int> requests) -> std::vector<int> {
    if (++calls == 1) {
      gate.pass();
      return doubled(requests);
    }
    throw StoreUnavailable("down");
  }});
  std::jthread first([&] { (void)batcher.submit(1); });
  gate.await_arrival();
  std::atomic<int> failed = 0;
  std::latch joined(2);
  std::vector<std::jthread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      joined.count_down();
      EXPECT_THROW((void)batcher.submit(2), StoreUnavailable);
      ++failed;
    });
  }
  joined.wait();
  gate.open();
  others.clear();
  EXPECT_EQ(failed.load(), 2);
}

TEST(BatcherTest, ARequestThatCannotBeTakenHurtsOnlyItself) {
  Gate gate;
  std::atomic<int> calls = 0;
  Doubler batcher({.flush = [&](std::span<int> requests) {
    if (++calls == 1) {
      gate.pass();
    }
    for (const int request : requests) {
      if (request == 13) {
        throw InvalidArgument("request", "unlucky");
      }
    }
    return doubled(requests);
  }});
  std::jthread first([&] { (void)batcher.submit(1); });
  gate.await_arrival();
  std::vector<std::future<int>> later;
  for (const int value : {12, 13, 14}) {
    auto promise = std::make_shared<std::promise<int>>();
    later.push_back(promise->get_future());
    batcher.submit_async(value, [promise](int reply, std::exception_ptr error) {
      error ? promise->set_exception(std::move(error)) : promise->set_value(reply);
    });
  }
  gate.open();
  EXPECT_EQ(later[0].get(), 24);
  EXPECT_THROW(later[1].get(), InvalidArgument);
  EXPECT_EQ(later[2].get(), 28);
}

}  // namespace
}  // namespace hapax::engine
