// Queues: made on first use; operators pause, drain, purge and move them and read their counts.
#include "conformance/fixture.hpp"
#include "model/identity.hpp"

namespace hapax::conformance {

namespace {

class QueueConformance : public Conformance {
 protected:
  QueueInfo info(const std::string& name = "default", const std::string& namespace_name = "default") {
    for (const QueueInfo& queue : store().queues(namespace_name)) {
      if (queue.queue.name == name) { return queue; }
    }
    ADD_FAILURE() << "no queue " << name;
    return {};
  }

  std::vector<std::string> names(const std::string& namespace_name = "default") {
    std::vector<std::string> all;
    for (const QueueInfo& queue : store().queues(namespace_name)) { all.push_back(queue.queue.name); }
    return all;
  }

  Uuid admit_delayed(Duration delay) {
    NewExecution item = request();
    item.delay = delay;
    return admit_id(item);
  }
};

TEST_F(QueueConformance, AFreshStoreHasNone) { EXPECT_TRUE(store().queues("default").empty()); }

TEST_F(QueueConformance, AQueueIsMadeByItsFirstExecutionWithTheDefaultSettings) {
  admit_id(request("work", "letters"));
  const QueueSettings settings = info("letters").settings;
  EXPECT_FALSE(settings.paused);
  EXPECT_FALSE(settings.draining);
  EXPECT_FALSE(settings.retention) << "the default is of the kind of execution";
  EXPECT_EQ(settings.failed_retention, std::nullopt);
}

TEST_F(QueueConformance, ConfiguringMakesTheQueueAndChangesOnlyWhatIsSaid) {
  store().configure_queue({.name = "letters"}, {.paused = true, .retention = 5h});
  store().configure_queue({.name = "letters"}, {.failed_retention = std::make_optional(std::optional<Duration>(9h))});
  QueueSettings settings = info("letters").settings;
  EXPECT_TRUE(settings.paused);
  EXPECT_FALSE(settings.draining);
  EXPECT_EQ(settings.retention, 5h);
  EXPECT_EQ(settings.failed_retention, 9h);
  store().configure_queue({.name = "letters"}, {.paused = false});
  settings = info("letters").settings;
  EXPECT_FALSE(settings.paused);
  EXPECT_EQ(settings.retention, 5h);
}

TEST_F(QueueConformance, FailedRetentionCanBeTakenBack) {
  store().configure_queue({}, {.failed_retention = std::make_optional(std::optional<Duration>(9h))});
  store().configure_queue({}, {.failed_retention = std::make_optional(std::optional<Duration>())});
  EXPECT_EQ(info().settings.failed_retention, std::nullopt);
}

TEST_F(QueueConformance, QueuesOfOneNameInTwoNamespacesAreTwo) {
  NewExecution item = request();
  item.queue.namespace_name = "tenant";
  admit_id(item);
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(names("tenant"), std::vector<std::string>{"default"});
  store().configure_queue({.namespace_name = "tenant", .name = "default"}, {.paused = true});
  admit_id(request());
  EXPECT_FALSE(info().settings.paused);
  EXPECT_TRUE(info("default", "tenant").settings.paused);
}

TEST_F(QueueConformance, QueuesAreToldByName) {
  for (const char* name : {"b", "c", "a", "B"}) { admit_id(request("work", name)); }
  EXPECT_EQ(names(), (std::vector<std::string>{"B", "a", "b", "c"}));
}

TEST_F(QueueConformance, APausedQueueGivesNothingUntilItIsResumed) {
  admit_id(request());
  TestWorker one = worker();
  store().configure_queue({}, {.paused = true});
  EXPECT_TRUE(claim(one).empty());
  EXPECT_TRUE(admit(request()).created()) << "it still takes work in";
  store().configure_queue({}, {.paused = false});
  EXPECT_EQ(claim(one).size(), 2U);
}

TEST_F(QueueConformance, PausingLetsWhatRunsFinish) {
  const Uuid id = admit_id(request());
  TestWorker one = worker();
  const Claim claim = claim_one(one);
  store().configure_queue({}, {.paused = true});
  EXPECT_EQ(finish(completed(claim)), FinishVerdict::accepted);
  EXPECT_EQ(status(id), Status::completed);
}

TEST_F(QueueConformance, ADrainingQueueRefusesNewWorkAndFinishesWhatItHas) {
  const Uuid id = admit_id(request());
  store().configure_queue({}, {.draining = true});
  const NewExecution refused = request();
  EXPECT_EQ(admit(refused).verdict, AdmissionVerdict::queue_draining);
  EXPECT_EQ(store().get(refused.id), std::nullopt);
  TestWorker one = worker();
  const Claim claim = claim_one(one);
  EXPECT_EQ(claim.id, id);
  EXPECT_EQ(finish(ending(claim, FinishKind::retry)), FinishVerdict::accepted);
  EXPECT_EQ(claim_one(one).id, id);
  store().configure_queue({}, {.draining = false});
  EXPECT_TRUE(admit(request()).created());
}

TEST_F(QueueConformance, ADrainingQueueStillAnswersForHeldIdentities) {
  const NewExecution first = keyed("order-1");
  admit_id(first);
  store().configure_queue({}, {.draining = true});
  const Admission again = admit(keyed("order-1"));
  EXPECT_EQ(again.verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(admit(keyed("order-2")).verdict, AdmissionVerdict::queue_draining);
}

TEST_F(QueueConformance, PurgeCancelsWhatIsPendingInBoundedBatches) {
  const Uuid running = admit_id(request());
  bring_to(running, Status::running);
  std::vector<Uuid> pending;
  for (int i = 0; i < 5; ++i) { pending.push_back(admit_id(request())); }
  pending.push_back(admit_delayed(1h));
  const Uuid elsewhere = admit_id(request("work", "other"));
  EXPECT_EQ(store().purge({}, 4), 4);
  EXPECT_EQ(store().purge({}, 4), 2);
  EXPECT_EQ(store().purge({}, 4), 0);
  for (const Uuid& id : pending) {
    const Execution purged = get(id);
    EXPECT_EQ(purged.status, Status::cancelled);
    ASSERT_TRUE(purged.error.has_value());
    EXPECT_EQ(purged.error->type, "Cancelled");
    EXPECT_EQ(purged.error->message, "purged");
  }
  EXPECT_EQ(status(running), Status::running);
  EXPECT_EQ(status(elsewhere), Status::pending);
  EXPECT_EQ(store().purge({.name = "never heard of"}, 4), 0);
}

TEST_F(QueueConformance, APurgedIdentityMayRunAgain) {
  admit_id(keyed("order-1"));
  EXPECT_EQ(store().purge({}, 10), 1);
  const Admission again = admit(keyed("order-1"));
  EXPECT_TRUE(again.created());
  EXPECT_EQ(again.run, 2);
}

TEST_F(QueueConformance, MoveTakesPendingOnesAlongInTheirOrder) {
  const Uuid running = admit_id(request());
  bring_to(running, Status::running);
  const Uuid plain = admit_id(request());
  NewExecution item = request();
  item.priority = 5;
  const Uuid urgent = admit_id(item);
  const Uuid delayed = admit_delayed(1h);
  const Execution before = get(delayed);
  EXPECT_EQ(store().move({}, {.name = "there"}, 10), 3);
  EXPECT_EQ(store().move({}, {.name = "there"}, 10), 0);
  EXPECT_EQ(get(running).queue.name, "default");
  EXPECT_EQ(get(delayed).queue.name, "there");
  EXPECT_EQ(get(delayed).run_at, before.run_at);
  EXPECT_EQ(get(delayed).created_at, before.created_at);
  TestWorker one = worker(30s, {"there"});
  const std::vector<Claim> claims = claim(one);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].id, urgent);
  EXPECT_EQ(claims[1].id, plain);
  EXPECT_EQ(claims[0].queue.name, "there");
}

TEST_F(QueueConformance, WhatHoldsAKeyOfItsQueueIsNotMoved) {
  NewExecution own = request();
  own.identity = IdentityClaim{.hash = identity_hash({.namespace_name = own.queue.namespace_name,
                                                      .scope = IdentityScope::queue,
                                                      .name = own.queue.name,
                                                      .key = "k"}),
                               .key = "k"};
  const Uuid held = admit_id(own);
  const Uuid plain = admit_id(request());
  EXPECT_THROW((void)store().move({}, {.name = "there"}, 10), InvalidArgument);
  EXPECT_EQ(get(held).queue.name, "default");
  EXPECT_EQ(get(plain).queue.name, "default") << "all or none";
  bring_to(held, Status::cancelled);
  EXPECT_EQ(store().move({}, {.name = "there"}, 10), 1);
  EXPECT_EQ(get(plain).queue.name, "there");
}

TEST_F(QueueConformance, AnIdentityOfTheInputStaysWhereItsTaskSaysThatItIsTheQueues) {
  NewExecution made = request();
  made.identity = IdentityClaim{.hash = identity_hash({.namespace_name = made.queue.namespace_name,
                                                       .scope = IdentityScope::queue,
                                                       .name = made.queue.name,
                                                       .key = "{}"}),
                                .key = ""};
  (void)admit_id(made);
  (void)store().put_task(
      {.namespace_name = "default", .name = made.task, .definition = R"({"identity_scope":"queue"})", .origin = "test"},
      "test");
  EXPECT_THROW((void)store().move({}, {.name = "there"}, 10), InvalidArgument);
  (void)store().put_task({.namespace_name = "default", .name = made.task, .definition = R"({})", .origin = "test"},
                         "test");
  EXPECT_EQ(store().move({}, {.name = "there"}, 10), 1);
}

TEST_F(QueueConformance, AKeyOfATaskGoesAlong) {
  (void)admit_id(keyed("order-1"));
  EXPECT_EQ(store().move({}, {.name = "there"}, 10), 1);
}

TEST_F(QueueConformance, MoveIsBoundedAndNeverIntoItself) {
  for (int i = 0; i < 5; ++i) { admit_id(request()); }
  EXPECT_EQ(store().move({}, {}, 10), 0);
  EXPECT_EQ(store().move({}, {.name = "there"}, 3), 3);
  EXPECT_EQ(info().ready, 2);
  EXPECT_EQ(info("there").ready, 3);
}

TEST_F(QueueConformance, AMovedExecutionFollowsItsNewQueuesRetention) {
  store().configure_queue({.name = "there"}, {.retention = 2h});
  const Uuid id = admit_id(request());
  EXPECT_EQ(store().move({}, {.name = "there"}, 1), 1);
  bring_to(id, Status::completed);
  EXPECT_EQ(*get(id).expires_at, *get(id).finished_at + 2h);
}

TEST_F(QueueConformance, TheNumbersTellWhereEverythingStands) {
  bring_to(admit_id(request()), Status::failed);
  bring_to(admit_id(request()), Status::completed);
  bring_to(admit_id(request()), Status::running);
  admit_id(request());
  advance(10min);
  admit_id(request());
  admit_delayed(1h);
  const QueueInfo queue = info();
  EXPECT_EQ(queue.ready, 2);
  EXPECT_EQ(queue.delayed, 1);
  EXPECT_EQ(queue.running, 1);
  EXPECT_EQ(queue.dead, 1);
  ASSERT_TRUE(queue.oldest_ready.has_value());
  EXPECT_GE(*queue.oldest_ready, 10min);
  EXPECT_LT(*queue.oldest_ready, 11min);
}

TEST_F(QueueConformance, WhatHasComeDueIsReadyWithoutAnybodyClaiming) {
  admit_delayed(1h);
  EXPECT_EQ(info().oldest_ready, std::nullopt);
  advance(61min);
  EXPECT_EQ(info().ready, 1);
  EXPECT_EQ(info().delayed, 0);
  ASSERT_TRUE(info().oldest_ready.has_value());
  EXPECT_GE(*info().oldest_ready, 1min);
}

TEST_F(QueueConformance, DiscardedDeadLettersAreNotCounted) {
  const Uuid id = admit_id(request());
  bring_to(id, Status::failed);
  EXPECT_EQ(info().dead, 1);
  EXPECT_EQ(store().discard({&id, 1}), 1);
  EXPECT_EQ(info().dead, 0);
}

TEST_F(QueueConformance, ThroughputIsWhatBeatsToldInTheLastMinute) {
  admit_id(request("work", "other"));
  admit_id(request());
  const TestWorker one = worker(24h);
  const Beat first{.session = one.session, .counts = {{.queue = {}, .completed = 7, .failed = 2, .retried = 1}}};
  EXPECT_FALSE(store().beat(first).session_lost);
  advance(20s);
  const Beat second{.session = one.session, .counts = {{.queue = {}, .completed = 3}}};
  EXPECT_FALSE(store().beat(second).session_lost);
  EXPECT_EQ(info().completed_last_minute, 10);
  EXPECT_EQ(info().failed_last_minute, 2);
  EXPECT_EQ(info("other").completed_last_minute, 0);
  advance(45s);
  EXPECT_EQ(info().completed_last_minute, 3);
  EXPECT_EQ(info().failed_last_minute, 0);
  advance(1min);
  EXPECT_EQ(info().completed_last_minute, 0);
}

}  // namespace

}  // namespace hapax::conformance
