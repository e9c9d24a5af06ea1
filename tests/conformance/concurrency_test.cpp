// Concurrent callers, each with its own store handle, as separate processes have. No test depends on who wins.
#include "conformance/fixture.hpp"

#include <algorithm>
#include <array>
#include <barrier>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace hapax::conformance {

namespace {

class ConcurrencyConformance : public Conformance {
 protected:
  static constexpr int racers = 6;

  void SetUp() override {
    Conformance::SetUp();
    for (int i = 0; i < racers; ++i) { handles_.push_back(second()); }
  }
  void TearDown() override {
    handles_.clear();
    Conformance::TearDown();
  }

  [[nodiscard]] Store& handle(int racer) { return *handles_.at(static_cast<std::size_t>(racer)); }

  // Starts all racers at the same moment and waits for them. An exception in a racer fails the test.
  void race(const std::function<void(int racer)>& run) { race(racers, run); }
  void race(int count, const std::function<void(int racer)>& run) {
    std::barrier start(count);
    std::vector<std::thread> threads;
    for (int racer = 0; racer < count; ++racer) {
      threads.emplace_back([&, racer] {
        start.arrive_and_wait();
        try {
          run(racer);
        } catch (const std::exception& error) { ADD_FAILURE() << "racer " << racer << ": " << error.what(); }
      });
    }
    for (std::thread& thread : threads) { thread.join(); }
  }

  static Admission admit_with(Store& store, const NewExecution& item) { return store.admit({&item, 1}).at(0); }
  static FinishVerdict finish_with(Store& store, const Finish& finish) { return store.finish({&finish, 1}).at(0); }

 private:
  std::vector<std::shared_ptr<Store>> handles_;
};

// ---- Claims --------------------------------------------------------------------------------------------------------

TEST_F(ConcurrencyConformance, ManyClaimersGetEveryExecutionExactlyOnce) {
  constexpr std::size_t total = 300;
  std::vector<NewExecution> items(total);
  for (NewExecution& item : items) { item = request(); }
  (void)store().admit(items);
  std::vector<TestWorker> workers;
  for (int i = 0; i < racers; ++i) { workers.push_back(worker()); }
  std::mutex mutex;
  std::map<Uuid, int> claimed;
  std::atomic<std::size_t> count = 0;
  const auto give_up = std::chrono::steady_clock::now() + 60s;

  race([&](int racer) {
    const TestWorker& me = workers.at(static_cast<std::size_t>(racer));
    ClaimRequest more{.session = me.session, .queues = me.queues, .limit = 7};
    std::vector<Finish> finishes;
    while ((count < total || !finishes.empty()) && std::chrono::steady_clock::now() < give_up) {
      more.claim_number += 1;
      const Exchange exchange = handle(racer).exchange(finishes, &more);
      for (const FinishVerdict verdict : exchange.verdicts) { EXPECT_EQ(verdict, FinishVerdict::accepted); }
      finishes.clear();
      const std::lock_guard lock(mutex);
      for (const Claim& one : exchange.claim.claims) {
        claimed[one.id] += 1;
        finishes.push_back(completed(one));
      }
      count += exchange.claim.claims.size();
    }
  });

  EXPECT_EQ(claimed.size(), total);
  for (const NewExecution& item : items) {
    ASSERT_EQ(claimed[item.id], 1);
    ASSERT_EQ(status(item.id), Status::completed);
  }
}

// ---- Identities ----------------------------------------------------------------------------------------------------

TEST_F(ConcurrencyConformance, RequestsOfOneIdentityAtOnceCreateOneExecution) {
  for (int round = 0; round < 10; ++round) {
    const std::string key = std::to_string(round);
    std::vector<Admission> admissions(racers);

    race([&](int racer) { admissions[static_cast<std::size_t>(racer)] = admit_with(handle(racer), keyed(key)); });

    std::set<Uuid> ids;
    for (const Admission& admission : admissions) { ids.insert(admission.id); }
    EXPECT_EQ(ids.size(), 1U);
    EXPECT_EQ(std::count_if(admissions.begin(), admissions.end(), [](const Admission& one) { return one.created(); }),
              1);
  }
  EXPECT_EQ(store().queues("default").at(0).ready, 10);
}

TEST_F(ConcurrencyConformance, BatchesOfTheSameIdentitiesInAnyOrderCreateEachOnce) {
  constexpr std::size_t keys = 100;
  std::vector<std::vector<Admission>> answers(racers);

  race([&](int racer) {
    std::vector<NewExecution> items;
    for (std::size_t i = 0; i < keys; ++i) { items.push_back(keyed(std::to_string(i))); }
    if (racer % 2 == 1) { std::reverse(items.begin(), items.end()); }
    std::vector<Admission> admissions = handle(racer).admit(items);
    if (racer % 2 == 1) { std::reverse(admissions.begin(), admissions.end()); }
    answers[static_cast<std::size_t>(racer)] = std::move(admissions);
  });

  for (std::size_t i = 0; i < keys; ++i) {
    int created = 0;
    for (const std::vector<Admission>& admissions : answers) {
      ASSERT_EQ(admissions.size(), keys);
      created += admissions[i].created() ? 1 : 0;
      ASSERT_EQ(admissions[i].id, answers[0][i].id);
    }
    ASSERT_EQ(created, 1) << i;
  }
}

TEST_F(ConcurrencyConformance, ReplacementsAtOnceAreRunsInARowAndOneIsLeft) {
  std::vector<Admission> admissions(racers);
  race([&](int racer) {
    NewExecution item = keyed("a");
    item.identity->on_conflict = OnConflict::terminate_existing;
    admissions[static_cast<std::size_t>(racer)] = admit_with(handle(racer), item);
  });

  std::set<int> runs;
  for (const Admission& admission : admissions) {
    EXPECT_TRUE(admission.created());
    runs.insert(admission.run);
    EXPECT_EQ(status(admission.id), admission.run == racers ? Status::pending : Status::cancelled);
  }
  EXPECT_EQ(runs.size(), static_cast<std::size_t>(racers));
  EXPECT_EQ(*runs.begin(), 1);
  EXPECT_EQ(*runs.rbegin(), racers);
}

TEST_F(ConcurrencyConformance, ADeadLetterRetriedByManyAtOnceIsRetriedOnce) {
  for (const NewExecution& item : {request(), keyed("a")}) {
    (void)admit_id(item);
    bring_to(item.id, Status::failed);
    std::vector<RetryResult> results(racers);

    race([&](int racer) {
      const RetryRequest again{.id = item.id, .new_id = base::new_uuid7()};
      results[static_cast<std::size_t>(racer)] = handle(racer).retry({&again, 1}).at(0);
    });

    int created = 0;
    for (const RetryResult& result : results) {
      created += result.verdict == RetryVerdict::created ? 1 : 0;
      EXPECT_TRUE(result.verdict == RetryVerdict::created || result.verdict == RetryVerdict::already_retried);
      EXPECT_EQ(result.existing, get(item.id).retried_as);
    }
    EXPECT_EQ(created, 1);
  }
}

// ---- Outcomes ------------------------------------------------------------------------------------------------------

TEST_F(ConcurrencyConformance, OfDifferentOutcomesAtOnceOneIsAccepted) {
  constexpr std::array kinds = {FinishKind::completed, FinishKind::failed,  FinishKind::cancelled,
                                FinishKind::timed_out, FinishKind::snoozed, FinishKind::retry};
  constexpr std::array ended_as = {Status::completed, Status::failed,  Status::cancelled,
                                   Status::timed_out, Status::pending, Status::pending};
  static_assert(kinds.size() == racers);
  TestWorker me = worker();
  for (int round = 0; round < 10; ++round) {
    const Uuid id = admit_id(request());
    const Claim held = claim_one(me);
    std::vector<FinishVerdict> verdicts(racers);

    race([&](int racer) {
      const auto i = static_cast<std::size_t>(racer);
      verdicts[i] = finish_with(handle(racer), ending(held, kinds[i], 1h));
    });

    ASSERT_EQ(std::count(verdicts.begin(), verdicts.end(), FinishVerdict::accepted), 1);
    const auto won = std::find(verdicts.begin(), verdicts.end(), FinishVerdict::accepted) - verdicts.begin();
    EXPECT_EQ(status(id), ended_as[static_cast<std::size_t>(won)]);
    EXPECT_EQ(store().attempts(id).size(), 1U);
  }
}

TEST_F(ConcurrencyConformance, TheSameOutcomeToldByManyAtOnceIsAcceptedFromAll) {
  TestWorker me = worker();
  for (int round = 0; round < 10; ++round) {
    const Uuid id = admit_id(request());
    const Claim held = claim_one(me);
    std::atomic<int> accepted = 0;

    race([&](int racer) {
      if (finish_with(handle(racer), completed(held, "7")) == FinishVerdict::accepted) { accepted += 1; }
    });

    EXPECT_EQ(accepted, racers);
    EXPECT_EQ(get(id).result, "7");
    EXPECT_EQ(store().attempts(id).size(), 1U);
  }
}

TEST_F(ConcurrencyConformance, ACancelAndAnOutcomeAtOnceGiveOneEnding) {
  TestWorker me = worker();
  for (int round = 0; round < 20; ++round) {
    const Uuid id = admit_id(request());
    const Claim held = claim_one(me);
    CancelResult cancelled;
    FinishVerdict finished = FinishVerdict::stale;

    race(2, [&](int racer) {
      if (racer == 0) {
        cancelled = handle(0).cancel({&id, 1}, "stop").at(0);
      } else {
        finished = finish_with(handle(1), completed(held));
      }
    });

    EXPECT_EQ(finished, FinishVerdict::accepted);
    EXPECT_EQ(status(id), Status::completed) << "a result stands even if cancellation was asked for";
    EXPECT_TRUE(cancelled.verdict == CancelVerdict::requested || cancelled.verdict == CancelVerdict::finished);
    EXPECT_FALSE(get(id).cancel_requested);
  }
}

TEST_F(ConcurrencyConformance, ACancelAndARetryAtOnceAlwaysEndAsCancelled) {
  TestWorker me = worker();
  for (int round = 0; round < 20; ++round) {
    const Uuid id = admit_id(request());
    const Claim held = claim_one(me);
    CancelResult cancelled;

    race(2, [&](int racer) {
      if (racer == 0) {
        cancelled = handle(0).cancel({&id, 1}, "stop").at(0);
      } else {
        EXPECT_EQ(finish_with(handle(1), ending(held, FinishKind::retry)), FinishVerdict::accepted);
      }
    });

    EXPECT_TRUE(cancelled.verdict == CancelVerdict::requested || cancelled.verdict == CancelVerdict::cancelled);
    EXPECT_EQ(status(id), Status::cancelled);
    EXPECT_EQ(get(id).error->message, "stop");
  }
}

TEST_F(ConcurrencyConformance, ACancelAndAClaimAtOnceAgreeOnWhoWasFirst) {
  TestWorker me = worker();
  for (int round = 0; round < 20; ++round) {
    const Uuid id = admit_id(request());
    CancelResult cancelled;
    std::vector<Claim> claims;

    race(2, [&](int racer) {
      if (racer == 0) {
        cancelled = handle(0).cancel({&id, 1}, "stop").at(0);
      } else {
        const ClaimRequest one{.session = me.session, .claim_number = round + 1, .queues = me.queues, .limit = 1};
        claims = handle(1).claim(one).claims;
      }
    });

    if (claims.empty()) {
      EXPECT_EQ(cancelled.verdict, CancelVerdict::cancelled);
      EXPECT_EQ(status(id), Status::cancelled);
    } else {
      EXPECT_EQ(cancelled.verdict, CancelVerdict::requested);
      EXPECT_EQ(status(id), Status::running);
      EXPECT_EQ(finish(ending(claims.at(0), FinishKind::cancelled)), FinishVerdict::accepted);
    }
  }
}

// ---- Sweeps --------------------------------------------------------------------------------------------------------

TEST_F(ConcurrencyConformance, AnOutcomeAndTheLossOfItsSessionAtOnceGiveOneOfThem) {
  for (int round = 0; round < 10; ++round) {
    const Uuid id = admit_id(request());
    TestWorker me = worker();
    const Claim held = claim_one(me);
    advance(me.lease + 1s);
    FinishVerdict finished = FinishVerdict::stale;
    SweepReport report;

    race(2, [&](int racer) {
      if (racer == 0) {
        report = handle(0).sweep({});
      } else {
        finished = finish_with(handle(1), completed(held));
      }
    });

    (void)sweep();  // picks up rows that the racing sweeps skipped
    const bool is_finished = finished == FinishVerdict::accepted;
    EXPECT_EQ(status(id), is_finished ? Status::completed : Status::pending);
    EXPECT_EQ(get(id).lost, is_finished ? 0 : 1);
    EXPECT_TRUE(store().sessions().empty());
    (void)store().cancel({&id, 1}, "out of the way of the next");
  }
}

TEST_F(ConcurrencyConformance, ManySweepersLoseEachExecutionOnce) {
  constexpr int total = 60;
  std::vector<NewExecution> items(total);
  for (NewExecution& item : items) { item = request(); }
  (void)store().admit(items);
  for (int i = 0; i < 6; ++i) {
    TestWorker dead = worker();
    ASSERT_EQ(claim(dead, 10).size(), 10U);
  }
  advance(1min);
  std::atomic<int> requeued = 0;

  race([&](int racer) {
    SweepReport report;
    do {
      report = handle(racer).sweep({.limit = 7});
      requeued += report.requeued;
    } while (report.more);
  });
  requeued += sweep().requeued;

  EXPECT_EQ(requeued, total);
  for (const NewExecution& item : items) {
    const Execution execution = get(item.id);
    ASSERT_EQ(execution.status, Status::pending);
    ASSERT_EQ(execution.lost, 1);
  }
  EXPECT_TRUE(store().sessions().empty());
}

}  // namespace

}  // namespace hapax::conformance
