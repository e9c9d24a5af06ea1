// How long records are kept and identities held: retention 0, defaults by kind, dedup windows, tombstones.
#include "conformance/fixture.hpp"

#include "model/identity.hpp"
#include "model/retention.hpp"

namespace hapax::conformance {

namespace {

using enum AdmissionVerdict;
using std::chrono::days;

class WindowConformance : public Conformance {
 protected:
  // A keyed execution that has ended with `status`.
  Uuid ended(const std::string& key, Status status, const std::optional<Duration>& dedup_window = std::nullopt) {
    NewExecution item = keyed(key);
    item.input = R"({"total":99})";
    item.identity->fingerprint = input_fingerprint(item.input);
    item.identity->dedup_window = dedup_window;
    (void)admit_id(item);
    if (status == Status::completed) {
      bring_to(item.id, Status::running);
      EXPECT_EQ(finish(completed({.id = item.id, .fence = get(item.id).fence}, R"({"paid":true})")),
                FinishVerdict::accepted);
    } else {
      bring_to(item.id, status);
    }
    return item.id;
  }

  Admission ask(const std::string& key, const std::string& input = R"({"total":99})") {
    NewExecution item = keyed(key, input);
    return admit(item);
  }
};

TEST_F(WindowConformance, TasksAreKeptSevenDaysAndWorkflowsThirtyUnlessTheQueueSays) {
  for (const Kind kind : {Kind::task, Kind::workflow}) {
    NewExecution item = request();
    item.kind = kind;
    bring_to(admit_id(item), Status::completed);
    const Execution it = get(item.id);
    EXPECT_EQ(*it.expires_at - *it.finished_at, kind == Kind::task ? days(7) : days(30));
  }
  store().configure_queue({}, {.retention = days(7)});
  NewExecution item = request();
  item.kind = Kind::workflow;
  bring_to(admit_id(item), Status::completed);
  EXPECT_EQ(*get(item.id).expires_at - *get(item.id).finished_at, days(7));
  store().configure_queue({}, {.retention = std::optional<Duration>()});
  EXPECT_FALSE(store().queues("default").at(0).settings.retention) << "taken away again";
}

TEST_F(WindowConformance, ARetentionOfNothingLeavesAStubForTenMinutes) {
  store().configure_queue({}, {.retention = 0s});

  const Uuid id = ended("a", Status::completed);

  const Execution stub = get(id);
  EXPECT_EQ(stub.status, Status::completed);
  EXPECT_EQ(stub.result, R"({"paid":true})");
  EXPECT_EQ(stub.input, "null") << "the payload goes at completion";
  EXPECT_EQ(*stub.expires_at - *stub.finished_at, stub_retention);
  EXPECT_EQ(store().outcomes({&id, 1}).at(0)->result, R"({"paid":true})");
  EXPECT_FALSE(store().holder(keyed("a").identity->hash)) << "the identity is released";
  advance(10min);
  EXPECT_FALSE(store().get(id));
}

TEST_F(WindowConformance, UnderARetentionOfNothingTheNextRequestRunsAnew) {
  store().configure_queue({}, {.retention = 0s});
  (void)ended("a", Status::completed);

  const Admission next = ask("a");

  EXPECT_EQ(next.verdict, created);
  EXPECT_EQ(next.run, 1);
  EXPECT_EQ(ask("a").verdict, deduplicated) << "it is live";
  bring_to(next.id, Status::completed);
  advance(11min);
  EXPECT_EQ(sweep(true).expired, 2);
  EXPECT_EQ(ask("a").verdict, created);
}

TEST_F(WindowConformance, FailuresAreSeenForSevenDaysAlsoWhereNothingIsKept) {
  store().configure_queue({}, {.retention = 0s});
  for (const Status status : {Status::failed, Status::cancelled, Status::timed_out}) {
    SCOPED_TRACE(to_string(status));
    const Uuid id = ended(std::string(to_string(status)), status);
    const Execution it = get(id);
    EXPECT_EQ(*it.expires_at - *it.finished_at, days(7));
    EXPECT_EQ(it.input, R"({"total":99})") << "it can be retried";
    EXPECT_EQ(it.dead, status == Status::failed);
  }
  store().configure_queue({}, {.failed_retention = 2h});
  const Execution it = get(ended("own", Status::failed));
  EXPECT_EQ(*it.expires_at - *it.finished_at, 2h);
}

TEST_F(WindowConformance, AWindowHoldsTheIdentityBeyondItsExecution) {
  store().configure_queue({}, {.retention = 1h});
  for (const bool is_swept : {false, true}) {
    SCOPED_TRACE(is_swept);
    const std::string key = is_swept ? "swept" : "unswept";
    const Uuid id = ended(key, Status::completed, 3h);
    const Execution before = get(id);
    advance(2h);
    if (is_swept) { EXPECT_GE(sweep(true).expired, 1); }
    ASSERT_FALSE(store().get(id)) << "the record is gone";

    const Admission held = ask(key);

    EXPECT_EQ(held.verdict, deduplicated);
    EXPECT_EQ(held.id, id);
    EXPECT_EQ(held.status, Status::completed);
    EXPECT_TRUE(held.expired);
    EXPECT_FALSE(held.result);
    EXPECT_EQ(held.deduplicated_from, before.created_at);
    EXPECT_EQ(held.finished_at, before.finished_at);
    EXPECT_EQ(held.run, 1);
    EXPECT_EQ(ask(key, "{}").verdict, mismatch);
    EXPECT_EQ(store().holder(keyed(key).identity->hash), id);
    EXPECT_FALSE(store().outcomes({&id, 1}).at(0));
    advance(61min);
    EXPECT_FALSE(store().holder(keyed(key).identity->hash)) << "expiry is compared on read";
    const Admission next = ask(key, "{}");
    EXPECT_EQ(next.verdict, created);
    EXPECT_EQ(next.run, 1);
    bring_to(next.id, Status::completed);
  }
}

// `holding` returns the same facts that an admission decides by, through every stage of a holder's life.
TEST_F(WindowConformance, AHoldingTellsWhoItIsUntilWhenAndWhatIsComparedWithIt) {
  store().configure_queue({}, {.retention = 1h});
  NewExecution item = keyed("a", R"({"total":99})");
  item.identity->dedup_window = 3h;
  const base::Digest identity = item.identity->hash;
  EXPECT_FALSE(store().holding(identity));
  (void)admit_id(item);
  std::optional<Holding> held = store().holding(identity);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->holder.id, item.id);
  EXPECT_EQ(held->holder.status, Status::pending);
  EXPECT_EQ(held->holder.run, 1);
  EXPECT_EQ(held->holder.fingerprint, item.identity->fingerprint);
  EXPECT_FALSE(held->until) << "for as long as it lives";

  bring_to(item.id, Status::failed);
  const Execution ended_one = get(item.id);
  held = store().holding(identity);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->holder.status, Status::failed);
  EXPECT_EQ(held->holder.created_at, ended_one.created_at);
  EXPECT_EQ(held->holder.finished_at, ended_one.finished_at);
  EXPECT_EQ(held->until, *ended_one.finished_at + 3h) << "the window is longer than the record is kept";
  EXPECT_FALSE(held->holder.expired);

  for (const bool is_swept : {false, true}) {
    SCOPED_TRACE(is_swept);
    if (is_swept) {
      EXPECT_EQ(sweep(true).expired, 1);
    } else {
      advance(2h);
    }
    held = store().holding(identity);
    ASSERT_TRUE(held);
    EXPECT_EQ(held->holder.id, item.id);
    EXPECT_TRUE(held->holder.expired);
    EXPECT_EQ(held->holder.status, Status::failed);
    EXPECT_EQ(held->holder.fingerprint, item.identity->fingerprint);
    EXPECT_EQ(held->until, *ended_one.finished_at + 3h);
  }
  advance(1h);
  EXPECT_FALSE(store().holding(identity));
}

// Every server of a store gives the same answer to a client that asks for an expired result.
TEST_F(WindowConformance, EveryHandleKnowsThatARecordHasExpiredUntilNothingIsLeftOfIt) {
  store().configure_queue({}, {.retention = 1h});
  const Uuid windowed = ended("windowed", Status::completed, 24h);
  const Uuid plain = ended("plain", Status::completed);
  const auto known = [&](const Uuid& id, std::string_view namespace_name = "default") {
    EXPECT_EQ(second()->has_expired(namespace_name, id), store().has_expired(namespace_name, id));
    return store().has_expired(namespace_name, id);
  };
  EXPECT_FALSE(known(windowed)) << "it is there";
  EXPECT_FALSE(known(admit_id(request()))) << "it goes on";
  EXPECT_FALSE(known(base::new_uuid7())) << "it never was";

  advance(2h);
  EXPECT_TRUE(known(windowed));
  EXPECT_TRUE(known(plain)) << "past its retention, whether it was swept or not";
  EXPECT_FALSE(known(plain, "shop")) << "other namespaces have no such execution";

  EXPECT_EQ(sweep(true).expired, 2);
  EXPECT_TRUE(known(windowed)) << "a tombstone";
  EXPECT_FALSE(known(windowed, "shop"));
  EXPECT_FALSE(known(plain)) << "nothing is left of it";

  advance(23h);
  EXPECT_FALSE(known(windowed)) << "its window is over";
  (void)sweep(true);
  EXPECT_FALSE(known(windowed));
}

TEST_F(WindowConformance, AHoldingOfAStubLastsAsLongAsItsWindow) {
  store().configure_queue({}, {.retention = 0s});
  const Uuid id = ended("windowed", Status::completed, 24h);
  const std::optional<Holding> held = store().holding(keyed("windowed").identity->hash);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->holder.id, id);
  EXPECT_EQ(held->holder.fingerprint, input_fingerprint(R"({"total":99})")) << "of the input that is gone";
  EXPECT_EQ(held->until, *get(id).finished_at + 24h);
  (void)ended("free", Status::completed);
  EXPECT_FALSE(store().holding(keyed("free").identity->hash));
}

TEST_F(WindowConformance, AWindowShorterThanRetentionChangesNothing) {
  store().configure_queue({}, {.retention = 2h});
  const Uuid id = ended("a", Status::completed, 1h);
  advance(90min);
  const Admission held = ask("a");
  EXPECT_EQ(held.verdict, deduplicated);
  EXPECT_EQ(held.id, id);
  EXPECT_FALSE(held.expired);
  EXPECT_EQ(held.result, R"({"paid":true})");
  advance(31min);
  EXPECT_EQ(ask("a").verdict, created);
}

TEST_F(WindowConformance, AQueuesWindowCountsForRequestsThatSayNone) {
  store().configure_queue({}, {.retention = 0s, .dedup_window = 1h});
  (void)ended("queue's", Status::completed);
  (void)ended("own", Status::completed, 2h);
  advance(59min);
  EXPECT_EQ(ask("queue's").verdict, deduplicated);
  advance(2min);
  EXPECT_EQ(ask("queue's").verdict, created);
  EXPECT_EQ(ask("own").verdict, deduplicated);
}

TEST_F(WindowConformance, AFailedRunsWindowDoesNotKeepTheNextFromRunning) {
  store().configure_queue({}, {.retention = 1h});
  (void)ended("a", Status::failed, 3h);
  advance(2h);
  EXPECT_EQ(sweep(true).expired, 1);
  const Admission next = ask("a");
  EXPECT_EQ(next.verdict, created);
  EXPECT_EQ(next.run, 2) << "the tombstone remembers the run";
}

TEST_F(WindowConformance, ATombstoneAnswersByReuseAndConflictPolicy) {
  store().configure_queue({}, {.retention = 1h});
  (void)ended("done", Status::completed, 24h);
  (void)ended("broken", Status::failed, 24h);
  advance(2h);
  EXPECT_EQ(sweep(true).expired, 2);
  NewExecution item = keyed("done", R"({"total":99})");
  item.identity->on_conflict = OnConflict::reject;
  EXPECT_EQ(admit(item).verdict, already_completed);
  item = keyed("broken", R"({"total":99})");
  item.identity->reuse = Reuse::reject;
  EXPECT_EQ(admit(item).verdict, already_finished);
  item = keyed("done");
  item.identity->reuse = Reuse::allow;
  const Admission next = admit(item);
  EXPECT_EQ(next.verdict, created);
  EXPECT_EQ(next.run, 2);
}

TEST_F(WindowConformance, ASweptTombstoneLeavesNothing) {
  store().configure_queue({}, {.retention = 1h});
  (void)ended("a", Status::completed, 2h);
  advance(90min);
  EXPECT_EQ(sweep(true).expired, 1);
  advance(1h);
  EXPECT_EQ(sweep(true).expired, 0) << "a tombstone is no execution";
  EXPECT_FALSE(store().holder(keyed("a").identity->hash));
  EXPECT_EQ(ask("a").run, 1);
}

TEST_F(WindowConformance, ARetriedDeadLetterKeepsItsWindow) {
  store().configure_queue({}, {.retention = 1h});
  const Uuid id = ended("a", Status::failed, 3h);
  const RetryRequest again{.id = id, .new_id = base::new_uuid7()};
  ASSERT_EQ(store().retry({&again, 1}).at(0).verdict, RetryVerdict::created);
  bring_to(again.new_id, Status::completed);
  advance(2h);
  EXPECT_EQ(sweep(true).expired, 2);
  const Admission held = ask("a");
  EXPECT_EQ(held.verdict, deduplicated);
  EXPECT_EQ(held.id, again.new_id);
  EXPECT_EQ(held.run, 2);
}

}  // namespace

}  // namespace hapax::conformance
