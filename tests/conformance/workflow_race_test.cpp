// Workflows under concurrent calls: no wakeup and no signal is lost, none is delivered twice.
#include "conformance/fixture.hpp"
#include "conformance/flow_tasks.hpp"

#include <algorithm>
#include <barrier>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace hapax::conformance {

namespace {

class WorkflowRace : public Conformance {
 protected:
  static constexpr int racers = 4;

  void SetUp() override {
    Conformance::SetUp();
    for (int i = 0; i < racers; ++i) {
      handles_.push_back(second());
      workers_.push_back(worker(1h, {"flows", "default"}));
      workers_.back().tasks = flow_tasks;
    }
  }
  void TearDown() override {
    handles_.clear();
    Conformance::TearDown();
  }

  [[nodiscard]] Store& handle(int racer) { return *handles_.at(static_cast<std::size_t>(racer)); }

  void race(const std::function<void(int racer)>& run) {
    std::barrier start(racers);
    std::vector<std::thread> threads;
    for (int racer = 0; racer < racers; ++racer) {
      threads.emplace_back([&, racer] {
        start.arrive_and_wait();
        try {
          run(racer);
        } catch (const std::exception& error) { ADD_FAILURE() << "racer " << racer << ": " << error.what(); }
      });
    }
    for (std::thread& thread : threads) { thread.join(); }
  }

  static NewExecution flow() {
    NewExecution item = request("order", "flows");
    item.kind = Kind::workflow;
    return item;
  }

  Claim begun() {
    (void)admit_id(flow());
    return claim_one(workers_.front());
  }

  // Retries, because a claim may skip a row that another caller is changing at that moment.
  Claim claim_soon() {
    for (int i = 0; i < 1000; ++i) {
      const std::vector<Claim> claims = claim(workers_.front(), 1);
      if (!claims.empty()) { return claims.front(); }
      std::this_thread::sleep_for(1ms);
    }
    return {};
  }

  static JournalEntry starting(std::int32_t position, const NewExecution& child) {
    JournalEntry entry{.position = position, .kind = 11, .name = "start"};
    entry.start = std::make_shared<const NewExecution>(child);
    return entry;
  }

  static Finish turn_finish(const Claim& claim, FinishKind kind, Turn turn) {
    Finish finish = ending(claim, kind);
    finish.turn = std::make_shared<const Turn>(std::move(turn));
    return finish;
  }

  static std::vector<Event> events_with(Store& store, const Uuid& id) {
    const HistoryRequest request{.execution = id};
    return store.histories({&request, 1}).at(0).events;
  }

  static void send_with(Store& store, const Uuid& id, const std::string& name, std::optional<std::string> once = {}) {
    const Signal signal{.execution = id, .name = name, .once = std::move(once)};
    EXPECT_EQ(store.signal({&signal, 1}).at(0).verdict, SignalVerdict::accepted);
  }

  std::vector<std::shared_ptr<Store>> handles_;
  std::vector<TestWorker> workers_;
};

// Each batch ends children of all workflows and lets other workflows wait, so every batch wakes rows that another batch
// is changing.
TEST_F(WorkflowRace, WorkersThatWakeEachOthersWorkflowsLoseNothing) {
  constexpr int parents = 16;
  constexpr int children = 6;
  std::vector<Uuid> ids;
  for (int i = 0; i < parents; ++i) { ids.push_back(admit_id(flow())); }
  std::atomic<int> left = parents;
  const auto give_up = std::chrono::steady_clock::now() + 30s;
  const auto outcome_of = [&](Store& store, const Claim& claim) {
    if (claim.kind != Kind::workflow) { return completed(claim); }
    const std::vector<Event> events = events_with(store, claim.id);
    if (claim.fence == 1) {
      Turn first;
      for (int i = 0; i < children; ++i) { first.entries.push_back(starting(i, request())); }
      return turn_finish(claim, FinishKind::waiting, std::move(first));
    }
    if (std::ssize(events) < children) { return turn_finish(claim, FinishKind::waiting, {.seen = std::ssize(events)}); }
    left -= 1;
    return completed(claim);
  };
  race([&](int racer) {
    TestWorker& worker = workers_.at(static_cast<std::size_t>(racer));
    std::vector<Finish> finishes;
    while ((left > 0 || !finishes.empty()) && std::chrono::steady_clock::now() < give_up) {
      const ClaimRequest next{.session = worker.session,
                              .claim_number = ++worker.claim_number,
                              .queues = worker.queues,
                              .tasks = worker.tasks,
                              .limit = 7};
      const Exchange exchange = handle(racer).exchange(finishes, &next);
      for (const FinishVerdict verdict : exchange.verdicts) { EXPECT_EQ(verdict, FinishVerdict::accepted); }
      finishes.clear();
      for (const Claim& claim : exchange.claim.claims) { finishes.push_back(outcome_of(handle(racer), claim)); }
    }
  });
  EXPECT_EQ(left, 0) << "somebody was not woken";
  for (const Uuid& id : ids) {
    EXPECT_EQ(status(id), Status::completed);
    std::set<std::int32_t> positions;
    std::int64_t number = 0;
    for (const Event& event : events_with(store(), id)) {
      EXPECT_EQ(event.number, ++number);
      EXPECT_EQ(event.kind, EventKind::ended);
      positions.insert(event.position);
    }
    EXPECT_EQ(positions.size(), static_cast<std::size_t>(children));
    EXPECT_EQ(number, children);
  }
}

TEST_F(WorkflowRace, WhatEndsWhileItIsMetTellsExactlyOnce) {
  for (int round = 0; round < 12; ++round) {
    const std::string key = "shared-" + std::to_string(round);
    const Uuid shared = admit_id(keyed(key));
    const Claim work = claim_one(workers_.front());
    std::vector<Claim> parents;
    for (int i = 1; i < racers; ++i) { parents.push_back(begun()); }
    race([&](int racer) {
      if (racer == 0) {
        const Finish done = completed(work, "7");
        EXPECT_EQ(handle(0).finish({&done, 1}).at(0), FinishVerdict::accepted);
        return;
      }
      const Claim& parent = parents.at(static_cast<std::size_t>(racer - 1));
      const Advance turn{.execution = parent.id, .fence = parent.fence, .entries = {starting(0, keyed(key))}};
      EXPECT_EQ(handle(racer).advance({&turn, 1}).at(0).verdict, FinishVerdict::accepted);
    });
    for (const Claim& parent : parents) {
      const std::vector<Event> events = events_with(store(), parent.id);
      ASSERT_EQ(events.size(), 1U) << "round " << round;
      EXPECT_EQ(events[0].kind, EventKind::ended);
      EXPECT_EQ(events[0].child, shared);
      EXPECT_EQ(events[0].data, "7");
      EXPECT_EQ(finish(completed(parent)), FinishVerdict::accepted);
    }
  }
}

TEST_F(WorkflowRace, SignalsThatComeTogetherAreAllThereAndAKeyOnce) {
  const Claim claim = begun();
  constexpr int each = 12;
  race([&](int racer) {
    for (int i = 0; i < each; ++i) {
      send_with(handle(racer), claim.id, std::to_string(racer) + "-" + std::to_string(i));
      send_with(handle(racer), claim.id, "once", "key-" + std::to_string(i));
    }
  });
  std::map<std::string, int> names;
  std::int64_t number = 0;
  for (const Event& event : events_with(store(), claim.id)) {
    EXPECT_EQ(event.number, ++number);
    names[event.name] += 1;
  }
  EXPECT_EQ(names["once"], each);
  EXPECT_EQ(names.size(), static_cast<std::size_t>(racers * each + 1));
}

TEST_F(WorkflowRace, ASignalAndAWaitAtOnceWake) {
  for (int round = 0; round < 12; ++round) {
    const Claim claim = begun();
    race([&](int racer) {
      if (racer == 0) {
        const Finish waits = turn_finish(claim, FinishKind::waiting, {.seen = 0});
        EXPECT_EQ(handle(0).finish({&waits, 1}).at(0), FinishVerdict::accepted);
      } else if (racer == 1) {
        send_with(handle(1), claim.id, "now");
      }
    });
    const Claim again = claim_one(workers_.front());
    EXPECT_EQ(again.id, claim.id) << "round " << round;
    EXPECT_EQ(again.inbox, 1);
    EXPECT_EQ(finish(completed(again)), FinishVerdict::accepted);
  }
}

TEST_F(WorkflowRace, SignalsReachSomeRunOfAChainExactlyOnce) {
  constexpr int each = 10;
  constexpr int runs = 8;
  const Claim first = begun();
  std::vector<std::string> used;
  Claim present = first;
  race([&](int racer) {
    if (racer != 0) {
      for (int i = 0; i < each; ++i) {
        const std::string name = std::to_string(racer) + "-" + std::to_string(i);
        send_with(handle(racer), first.id, name, i % 2 == 0 ? std::optional(name) : std::nullopt);
      }
      return;
    }
    for (int run = 0; run < runs; ++run) {
      const std::vector<Event> events = events_with(handle(0), present.id);
      for (const Event& event : events) { used.push_back(event.name); }
      auto next = std::make_shared<NewExecution>(flow());
      const Finish goes_on = turn_finish(present, FinishKind::continued, {.seen = std::ssize(events), .next = next});
      ASSERT_EQ(handle(0).finish({&goes_on, 1}).at(0), FinishVerdict::accepted);
      present = claim_soon();
      ASSERT_EQ(present.id, next->id);
      EXPECT_EQ(present.run, run + 2);
    }
  });
  for (const Event& event : events_with(store(), present.id)) { used.push_back(event.name); }
  EXPECT_EQ(used.size(), static_cast<std::size_t>((racers - 1) * each));
  std::sort(used.begin(), used.end());
  EXPECT_EQ(std::adjacent_find(used.begin(), used.end()), used.end()) << "told twice";
  const std::size_t before = events_with(store(), present.id).size();
  send_with(store(), first.id, "1-0", "1-0");
  EXPECT_EQ(events_with(store(), present.id).size(), before) << "keys go over to later runs";
}

}  // namespace

}  // namespace hapax::conformance
