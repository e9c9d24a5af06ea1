// Retention: finished executions are deleted after their queue's period; live ones stay, whatever their age.
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class RetentionConformance : public Conformance {
 protected:
  void keep(Duration retention, std::optional<Duration> failed_retention = std::nullopt) {
    store().configure_queue({}, {.retention = retention, .failed_retention = std::make_optional(failed_retention)});
  }

  bool is_there(const Uuid& id) { return store().get(id).has_value(); }

  // Sweeps until nothing is left to delete. The bound makes a sweep that never ends fail the test.
  int expire_all(int limit = 1000) {
    int expired = 0;
    for (int round = 0; round < 100; ++round) {
      const SweepReport report = store().sweep({.limit = limit, .retention = true});
      expired += report.expired;
      if (!report.more) { return expired; }
    }
    ADD_FAILURE() << "the sweep always wants to be called again";
    return expired;
  }
};

TEST_F(RetentionConformance, LiveExecutionsAreKeptHoweverOld) {
  keep(1h);
  const Uuid pending = admit_id(request());
  NewExecution later = request();
  later.delay = std::chrono::days(3000);
  const Uuid delayed = admit_id(later);
  const Uuid running = admit_id(request("work", "other"));
  bring_to(running, Status::running);
  advance(std::chrono::days(2000));
  expire_all();
  EXPECT_EQ(status(pending), Status::pending);
  EXPECT_EQ(status(delayed), Status::pending);
  EXPECT_EQ(status(running), Status::pending) << "its session was lost meanwhile, it was not";
}

TEST_F(RetentionConformance, AFinishedExecutionIsThereUntilItsQueuesRetentionIsOver) {
  keep(2h);
  const Uuid id = admit_id(request());
  bring_to(id, Status::completed);
  const Execution before = get(id);
  EXPECT_EQ(*before.expires_at, *before.finished_at + 2h);
  advance(1h);
  EXPECT_EQ(expire_all(), 0);
  EXPECT_TRUE(is_there(id));
  advance(61min);
  EXPECT_FALSE(is_there(id)) << "expiry is compared on read, it does not wait for a sweep";
  advance(std::chrono::days(3));
  EXPECT_EQ(expire_all(), 1);
  EXPECT_EQ(expire_all(), 0) << "what was deleted is not deleted again";
}

TEST_F(RetentionConformance, FailedCancelledAndTimedOutFollowFailedRetention) {
  keep(1h, 5h);
  const Uuid done = admit_id(request());
  bring_to(done, Status::completed);
  std::vector<Uuid> ended_badly;
  for (const Status status : {Status::failed, Status::cancelled, Status::timed_out}) {
    ended_badly.push_back(admit_id(request()));
    bring_to(ended_badly.back(), status);
  }
  advance(2h);
  expire_all();
  EXPECT_FALSE(is_there(done));
  for (const Uuid& id : ended_badly) { EXPECT_TRUE(is_there(id)); }
  advance(4h);
  for (const Uuid& id : ended_badly) { EXPECT_FALSE(is_there(id)); }
}

TEST_F(RetentionConformance, WithoutFailedRetentionAllFollowRetention) {
  keep(1h, 5h);
  keep(1h);
  const Uuid id = admit_id(request());
  bring_to(id, Status::failed);
  EXPECT_EQ(*get(id).expires_at, *get(id).finished_at + 1h);
}

TEST_F(RetentionConformance, AChangedRetentionCountsForWhatFinishesAfterIt) {
  keep(10h);
  const Uuid before = admit_id(request());
  bring_to(before, Status::completed);
  keep(1h);
  const Uuid after = admit_id(request());
  bring_to(after, Status::completed);
  advance(2h);
  EXPECT_TRUE(is_there(before));
  EXPECT_FALSE(is_there(after));
}

TEST_F(RetentionConformance, QueuesHaveTheirOwnRetention) {
  keep(1h);
  store().configure_queue({.name = "archive"}, {.retention = std::chrono::days(30)});
  const Uuid short_lived = admit_id(request());
  const Uuid archived = admit_id(request("work", "archive"));
  bring_to(short_lived, Status::completed);
  bring_to(archived, Status::completed);
  advance(std::chrono::days(10));
  EXPECT_EQ(expire_all(), 1);
  EXPECT_FALSE(is_there(short_lived));
  EXPECT_TRUE(is_there(archived));
}

TEST_F(RetentionConformance, AnExpiredHolderFreesItsIdentityBeforeAnySweep) {
  keep(1h);
  const NewExecution first = keyed("order-1");
  admit_id(first);
  bring_to(first.id, Status::completed);
  EXPECT_EQ(admit(keyed("order-1")).verdict, AdmissionVerdict::deduplicated);
  advance(2h);
  EXPECT_EQ(store().holder(first.identity->hash), std::nullopt);
  const NewExecution second = keyed("order-1");
  const Admission admission = admit(second);
  EXPECT_TRUE(admission.created());
  EXPECT_EQ(admission.id, second.id);
  EXPECT_EQ(admission.run, 1) << "an expired holder is no holder";
}

TEST_F(RetentionConformance, TheIdentityIsFreeAfterTheSweepToo) {
  keep(1h);
  const NewExecution first = keyed("order-1");
  admit_id(first);
  bring_to(first.id, Status::failed);
  advance(std::chrono::days(3));
  EXPECT_EQ(expire_all(), 1);
  const Admission admission = admit(keyed("order-1"));
  EXPECT_TRUE(admission.created());
  EXPECT_EQ(admission.run, 1);
}

TEST_F(RetentionConformance, SweepingAnOldRunLeavesTheIdentityToItsNewHolder) {
  keep(1h);
  const NewExecution first = keyed("order-1");
  admit_id(first);
  bring_to(first.id, Status::failed);
  const NewExecution second = keyed("order-1");
  EXPECT_EQ(admit(second).run, 2);
  advance(std::chrono::days(3));
  EXPECT_EQ(expire_all(), 1);
  EXPECT_EQ(store().holder(second.identity->hash), second.id);
  EXPECT_EQ(admit(keyed("order-1")).verdict, AdmissionVerdict::deduplicated);
}

TEST_F(RetentionConformance, AnExpiredExecutionCanNeitherBeRetriedNorAnnotatedNorDiscarded) {
  keep(1h);
  const Uuid id = admit_id(request());
  bring_to(id, Status::failed);
  advance(2h);
  const RetryRequest again{.id = id, .new_id = base::new_uuid7()};
  EXPECT_EQ(store().retry({&again, 1}).at(0).verdict, RetryVerdict::not_found);
  EXPECT_EQ(store().annotate({&id, 1}, "too late"), 0);
  EXPECT_EQ(store().discard({&id, 1}), 0);
  EXPECT_EQ(store().cancel({&id, 1}, "").at(0).verdict, CancelVerdict::not_found);
  EXPECT_TRUE(store().attempts(id).empty());
  EXPECT_EQ(store().outcomes({&id, 1}).at(0), std::nullopt);
  EXPECT_TRUE(store().list({}).empty());
}

TEST_F(RetentionConformance, ASweepInSmallBitesDeletesEverythingInTheEnd) {
  keep(1h);
  for (int i = 0; i < 25; ++i) { bring_to(admit_id(request()), Status::cancelled); }
  advance(std::chrono::days(3));
  EXPECT_EQ(expire_all(4), 25);
  if (capabilities().speaks_sql) { EXPECT_EQ(store().sql("SELECT count(*) FROM executions", 1).rows.at(0).at(0), "0"); }
}

TEST_F(RetentionConformance, ALimitedSweepSaysThatThereIsMore) {
  for (int i = 0; i < 10; ++i) {
    NewExecution item = request();
    item.deadline = 1min;
    admit_id(item);
  }
  advance(2min);
  const SweepReport first = store().sweep({.limit = 4});
  EXPECT_EQ(first.timed_out, 4);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(store().sweep({.limit = 4}).timed_out, 4);
  const SweepReport last = store().sweep({.limit = 4});
  EXPECT_EQ(last.timed_out, 2);
  EXPECT_FALSE(last.more);
}

TEST_F(RetentionConformance, ASweepWithoutRetentionDeletesNothing) {
  keep(1h);
  bring_to(admit_id(request()), Status::completed);
  advance(std::chrono::days(3));
  EXPECT_EQ(sweep().expired, 0);
  EXPECT_EQ(expire_all(), 1);
}

}  // namespace

}  // namespace hapax::conformance
