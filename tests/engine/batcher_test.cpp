#include "engine/batcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <latch>
#include <stdexcept>
#include <thread>

namespace hapax::engine {
namespace {

using Doubler = Batcher<int, int>;

// A store call that blocks until the test opens it.
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
  for (const int request : requests) { replies.push_back(2 * request); }
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
  for (int i = 0; i < 5; ++i) { EXPECT_EQ(later[static_cast<std::size_t>(i)].get(), 2 * (10 + i)); }
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
                     .policy = {.max_items = 3}});
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
    if (++calls == 1) { gate.pass(); }
    for (const int request : requests) {
      if (request == 13) { throw InvalidArgument("request", "unlucky"); }
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

TEST(BatcherTest, WhatFlushedThrowsIsNobodysError) {
  Gate gate;
  std::atomic<int> calls = 0;
  Doubler batcher({.flush =
                       [&](std::span<int> requests) {
                         if (++calls == 1) { gate.pass(); }
                         return doubled(requests);
                       },
                   .flushed = [](std::span<int>, std::span<int>) { throw std::runtime_error("news nobody took"); }});
  std::jthread first([&] { EXPECT_EQ(batcher.submit(1), 2); });
  gate.await_arrival();
  std::vector<std::jthread> others;
  std::latch coming(4);
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&] {
      coming.count_down();
      EXPECT_EQ(batcher.submit(3), 6);
    });
  }
  std::promise<int> told;
  batcher.submit_async(4, [&](int reply, const std::exception_ptr&) { told.set_value(reply); });
  coming.wait();
  gate.open();
  EXPECT_EQ(told.get_future().get(), 8);
}

TEST(BatcherTest, ACallbackMaySubmitAndThrow) {
  Gate gate;
  std::atomic<int> calls = 0;
  std::promise<int> second;
  std::promise<int> third;
  Doubler batcher({.flush = [&](std::span<int> requests) {
    if (++calls == 1) { gate.pass(); }
    return doubled(requests);
  }});
  batcher.submit_async(1, [&](int, const std::exception_ptr&) {
    second.set_value(batcher.submit(10));
    throw std::runtime_error("a callback's own trouble");
  });
  gate.await_arrival();
  // This request is queued behind the first call, so the leading thread has a second batch to run while the callback
  // waits for its own answer.
  batcher.submit_async(2, [&](int reply, const std::exception_ptr&) { third.set_value(reply); });
  gate.open();
  EXPECT_EQ(second.get_future().get(), 20);
  EXPECT_EQ(third.get_future().get(), 4);
}

// Calls that the test releases one by one, with a count of how many were under way at once.
class Calls {
 public:
  std::vector<int> make(std::span<int> requests) {
    std::unique_lock lock(mutex_);
    sizes_.push_back(requests.size());
    most_ = std::max(most_, ++under_way_);
    condition_.notify_all();
    condition_.wait(lock, [this] { return allowed_ > 0; });
    --allowed_;
    --under_way_;
    return doubled(requests);
  }
  void await_begun(std::size_t count) {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [&] { return sizes_.size() >= count; });
  }
  void allow(int count) {
    const std::lock_guard lock(mutex_);
    allowed_ += count;
    condition_.notify_all();
  }
  [[nodiscard]] std::vector<std::size_t> sizes() {
    const std::lock_guard lock(mutex_);
    return sizes_;
  }
  [[nodiscard]] int most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  std::vector<std::size_t> sizes_;
  int under_way_ = 0;
  int most_ = 0;
  int allowed_ = 0;
};

constexpr int let_all_go = 1'000'000;

TEST(BatcherTest, WhatComesInABurstSharesACall) {
  Calls calls;
  calls.allow(let_all_go);
  std::latch answered(5);
  Doubler batcher({.flush = [&](std::span<int> requests) { return calls.make(requests); },
                   .policy = {.burst_max = std::chrono::minutes(1)}});
  {
    const Doubler::Burst burst(batcher);
    for (int i = 0; i < 5; ++i) {
      batcher.submit_async(i, [&](int, const std::exception_ptr&) { answered.count_down(); });
    }
  }
  answered.wait();
  EXPECT_EQ(calls.sizes(), (std::vector<std::size_t>{5}));
}

TEST(BatcherTest, ABurstThatDoesNotEndIsNotWaitedFor) {
  Calls calls;
  calls.allow(let_all_go);
  std::latch answered(1);
  Doubler batcher({.flush = [&](std::span<int> requests) { return calls.make(requests); }});
  const Doubler::Burst burst(batcher);
  batcher.submit_async(1, [&](int, const std::exception_ptr&) { answered.count_down(); });
  answered.wait();  // blocks the thread that would end the burst
  EXPECT_EQ(calls.sizes(), (std::vector<std::size_t>{1}));
}

TEST(BatcherTest, ABlockingCallerTakesAlongWhatWaitsForABurst) {
  Calls calls;
  calls.allow(let_all_go);
  std::latch answered(1);
  Doubler batcher({.flush = [&](std::span<int> requests) { return calls.make(requests); },
                   .policy = {.burst_max = std::chrono::minutes(10)}});
  const Doubler::Burst burst(batcher);
  batcher.submit_async(1, [&](int, const std::exception_ptr&) { answered.count_down(); });
  EXPECT_EQ(batcher.submit(4), 8);
  answered.wait();
  EXPECT_EQ(calls.sizes(), (std::vector<std::size_t>{2}));
}

TEST(BatcherTest, AsynchronousRequestsWaitForTheCallUnderWay) {
  Calls calls;
  std::latch answered(5);
  Doubler batcher({.flush = [&](std::span<int> requests) { return calls.make(requests); }});
  for (int i = 0; i < 5; ++i) {
    batcher.submit_async(i, [&](int, const std::exception_ptr&) { answered.count_down(); });
  }
  calls.allow(let_all_go);
  answered.wait();
  EXPECT_EQ(calls.most(), 1);
}

// Blocking and asynchronous callers, failing batches, and a shutdown in the middle: each caller gets its own answer,
// once.
TEST(BatcherTest, EachCallerIsAnsweredOnce) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> answered = 0;
    std::atomic<int> wrong = 0;
    constexpr int each = 300;
    {
      Doubler batcher({.flush =
                           [](std::span<int> requests) {
                             if (std::ranges::any_of(requests, [](int value) { return value % 97 == 0; })) {
                               throw InvalidArgument("request", "unlucky");
                             }
                             std::this_thread::sleep_for(std::chrono::microseconds(20));
                             return doubled(requests);
                           },
                       .policy = {.max_items = 16}});
      const auto check = [&](int value, int reply, bool failed) {
        wrong += failed != (value % 97 == 0) || (!failed && reply != 2 * value);
        ++answered;
      };
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
          for (int i = 0; i < each; ++i) {
            const int value = t * 1000 + i + 1;
            if (t > 0) {
              batcher.submit_async(value, [&, value](int reply, const std::exception_ptr& error) {
                check(value, reply, error != nullptr);
              });
              continue;
            }
            try {
              check(value, batcher.submit(value), false);
            } catch (const InvalidArgument&) { check(value, 0, true); }
          }
        });
      }
      threads.clear();
    }
    ASSERT_EQ(answered.load(), 4 * each) << "the destructor answers what is waiting";
    ASSERT_EQ(wrong.load(), 0);
  }
}

TEST(BatcherTest, AHeldUpAsynchronousRequestHoldsUpNoOther) {
  Gate held;
  Doubler batcher({.flush = [&](std::span<int> requests) -> std::vector<int> {
                     if (std::ranges::find(requests, 13) != requests.end()) {
                       throw InvalidArgument("request", "held up");
                     }
                     return doubled(requests);
                   },
                   .flush_alone =
                       [&](std::span<int> requests) {
                         held.pass();
                         return doubled(requests);
                       }});
  std::promise<int> slow;
  batcher.submit_async(13, [&](int reply, const std::exception_ptr&) { slow.set_value(reply); });
  held.await_arrival();
  std::promise<int> quick;
  batcher.submit_async(5, [&](int reply, const std::exception_ptr&) { quick.set_value(reply); });
  EXPECT_EQ(quick.get_future().get(), 10);
  EXPECT_EQ(batcher.submit(6), 12);
  held.open();
  EXPECT_EQ(slow.get_future().get(), 26);
}

}  // namespace
}  // namespace hapax::engine
