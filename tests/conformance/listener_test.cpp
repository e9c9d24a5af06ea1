// Wakeups between processes: a hint that something may have changed.
#include "conformance/fixture.hpp"

#include <thread>

namespace hapax::conformance {

namespace {

class ListenerConformance : public Conformance {
 protected:
  // Enqueues as a producer in another process does.
  static void enqueue_and_announce(Store& producer) {
    const NewExecution item = request();
    EXPECT_TRUE(producer.admit({&item, 1}).at(0).created());
    producer.announce({&item.queue, 1});
  }
};

TEST_F(ListenerConformance, AnAnnouncementWakesAThreadThatWaits) {
  const std::shared_ptr<Store> producer = second();
  const std::unique_ptr<store::Listener> listener = store().listen();
  std::atomic<bool> woken = false;
  std::thread waiting([&] { woken = listener->wait(30s); });
  enqueue_and_announce(*producer);
  waiting.join();
  EXPECT_TRUE(woken);
}

TEST_F(ListenerConformance, WhatHappenedBeforeTheWaitCounts) {
  const std::shared_ptr<Store> producer = second();
  const std::unique_ptr<store::Listener> listener = store().listen();
  enqueue_and_announce(*producer);
  EXPECT_TRUE(listener->wait(30s));
}

TEST_F(ListenerConformance, EveryListenerIsTold) {
  const std::shared_ptr<Store> producer = second();
  const std::unique_ptr<store::Listener> one = store().listen();
  const std::unique_ptr<store::Listener> two = store().listen();
  enqueue_and_announce(*producer);
  EXPECT_TRUE(one->wait(30s));
  EXPECT_TRUE(two->wait(30s));
}

TEST_F(ListenerConformance, AQuietStoreTellsNothing) {
  const std::unique_ptr<store::Listener> listener = store().listen();
  EXPECT_FALSE(listener->wait(1ms));
}

TEST_F(ListenerConformance, AnInterruptEndsTheWait) {
  const std::unique_ptr<store::Listener> listener = store().listen();
  std::thread waiting([&] {
    while (listener->wait(1h)) {}
  });
  listener->interrupt();
  waiting.join();
}

TEST_F(ListenerConformance, AnInterruptBeforeTheWaitEndsTheNextOne) {
  const std::unique_ptr<store::Listener> listener = store().listen();
  listener->interrupt();
  EXPECT_FALSE(listener->wait(1h));
  const std::shared_ptr<Store> producer = second();
  enqueue_and_announce(*producer);
  EXPECT_TRUE(listener->wait(30s)) << "it listens on";
}

TEST_F(ListenerConformance, AnnouncingNothingOrNobodysQueueIsFine) {
  store().announce({});
  const QueueRef unknown{.namespace_name = "nobody", .name = "it's; \"odd\" %s \xc3\xa9"};
  store().announce({&unknown, 1});
}

}  // namespace

}  // namespace hapax::conformance
