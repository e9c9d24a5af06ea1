// The audit log: a line is written in the same transaction as the action, if and only if the request names an actor.
#include "conformance/workflow_fixture.hpp"

#include "base/limits.hpp"

#include <gmock/gmock.h>

namespace hapax::conformance {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AuditConformance : public WorkflowConformance {
 protected:
  const Actor ann{"ann"};

  // "actor action subject detail", newest first.
  std::vector<std::string> lines(const AuditQuery& query = {}) {
    std::vector<std::string> texts;
    for (const AuditLine& line : second()->audit(query)) {
      texts.push_back(line.actor + " " + line.action + " " + line.subject + " " + line.detail);
    }
    return texts;
  }
};

TEST_F(AuditConformance, ACancelIsWrittenWithItsReason) {
  TestWorker ours = worker();
  const Uuid running = admit_id(request());
  (void)claim_one(ours);
  const Uuid pending = admit_id(request());
  const Uuid ended = admit_id(request("work", "other"));
  bring_to(ended, Status::cancelled);
  const std::vector<Uuid> ids = {running, pending, ended, base::new_uuid7()};
  (void)store().cancel(ids, "wrong order", ann);
  EXPECT_THAT(lines(), ElementsAre("ann execution.cancel " + pending.to_string() + " wrong order",
                                   "ann execution.cancel " + running.to_string() + " wrong order"));
}

TEST_F(AuditConformance, EndingAHolderIsWrittenAsACancel) {
  NewExecution holder = keyed("k");
  holder.labels.actor = "bob";
  const Uuid ended = admit_id(holder);
  NewExecution next = keyed("k");
  next.identity->on_conflict = OnConflict::terminate_existing;
  next.labels.actor = "ann";
  EXPECT_TRUE(admit(next).created());
  EXPECT_THAT(lines(), ElementsAre("ann execution.cancel " + ended.to_string() + " terminated by a newer request"));
  NewExecution nobody = keyed("k");
  nobody.identity->on_conflict = OnConflict::terminate_existing;
  EXPECT_TRUE(admit(nobody).created());
  EXPECT_EQ(lines().size(), 1U) << "what nobody's name is on is not written";
}

TEST_F(AuditConformance, WhatNobodyIsNamedForIsNotWritten) {
  const Uuid id = admit_id(request());
  (void)store().cancel({&id, 1}, "by hapax itself");
  const RetryRequest again{.id = id, .new_id = base::new_uuid7()};
  (void)store().retry({&again, 1});
  EXPECT_EQ(store().purge({}, 10), 1);
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(AuditConformance, ARetryNamesTheNewRunAndIsWrittenOnce) {
  const Uuid id = admit_id(request());
  bring_to(id, Status::failed);
  const RetryRequest again{.id = id, .new_id = base::new_uuid7()};
  EXPECT_EQ(store().retry({&again, 1}, ann).at(0).verdict, RetryVerdict::created);
  const RetryRequest twice{.id = id, .new_id = base::new_uuid7()};
  EXPECT_EQ(store().retry({&twice, 1}, ann).at(0).verdict, RetryVerdict::already_retried);
  EXPECT_THAT(lines(), ElementsAre("ann execution.retry " + id.to_string() + " " + again.new_id.to_string()));
}

TEST_F(AuditConformance, DiscardAndAnnotate) {
  const Uuid dead = admit_id(request());
  bring_to(dead, Status::failed);
  const Uuid live = admit_id(request());
  const std::vector<Uuid> ids = {dead, live};
  EXPECT_EQ(store().annotate(ids, "vendor is down", ann), 1);
  EXPECT_EQ(store().discard(ids, ann), 1);
  EXPECT_EQ(store().discard(ids, ann), 0);
  EXPECT_THAT(lines(), ElementsAre("ann execution.discard " + dead.to_string() + " ",
                                   "ann execution.annotate " + dead.to_string() + " vendor is down"));
}

TEST_F(AuditConformance, PurgeAndMoveAreOneLineACall) {
  for (int i = 0; i < 3; ++i) { (void)admit_id(request()); }
  EXPECT_EQ(store().move({}, {.name = "there"}, 2, ann), 2);
  EXPECT_EQ(store().purge({}, 10, ann), 1);
  EXPECT_EQ(store().purge({}, 10, ann), 0);
  EXPECT_EQ(store().move({}, {.name = "there"}, 2, ann), 0);
  EXPECT_THAT(lines(), ElementsAre(R"(ann queue.purge default {"count":1})",
                                   R"(ann queue.move default {"count":2,"to":"there"})"));
}

TEST_F(AuditConformance, ASignalIsWrittenByItsNameNotItsPayload) {
  const Uuid run = admit_id(flow());
  const Uuid task = admit_id(request());
  const std::vector<Signal> signals = {{.execution = run, .name = "approve", .data = R"({"secret":1})"},
                                       {.execution = task, .name = "approve"}};
  const std::vector<SignalResult> results = store().signal(signals, ann);
  EXPECT_EQ(results.at(0).verdict, SignalVerdict::accepted);
  EXPECT_EQ(results.at(1).verdict, SignalVerdict::not_a_workflow);
  (void)store().signal({signals.data(), 1}, ann);
  const std::string line = "ann execution.signal " + run.to_string() + " approve";
  EXPECT_THAT(lines(), ElementsAre(line, line));
}

TEST_F(AuditConformance, LinesStandInTheNamespaceOfWhatWasDone) {
  NewExecution foreign = request();
  foreign.queue.namespace_name = "shop";
  const Uuid id = admit_id(foreign);
  (void)store().cancel({&id, 1}, "no", ann);
  EXPECT_THAT(lines(), IsEmpty());
  EXPECT_THAT(lines({.namespace_name = "shop"}), ElementsAre("ann execution.cancel " + id.to_string() + " no"));
}

TEST_F(AuditConformance, BySubjectActionAndTime) {
  store().configure_queue({.name = "a"}, {.paused = true, .actor = "ann"});
  advance(1min);
  const Time between = store().now();
  advance(1min);
  store().configure_queue({.name = "b"}, {.paused = true, .actor = "ann"});
  EXPECT_TRUE(store().put_setting("default", {.name = "a", .value = "1"}, "bob"));
  const std::string paused = R"({"paused":true})";
  EXPECT_THAT(lines({.subject = "a"}), ElementsAre("bob setting a 1", "ann queue.configure a " + paused));
  EXPECT_THAT(lines({.action = "queue.configure"}),
              ElementsAre("ann queue.configure b " + paused, "ann queue.configure a " + paused));
  EXPECT_THAT(lines({.before = between}), ElementsAre("ann queue.configure a " + paused));
  EXPECT_THAT(lines({.from = between}), ElementsAre("bob setting a 1", "ann queue.configure b " + paused));
  EXPECT_THAT(lines({.subject = "a", .action = "setting", .from = between, .limit = 1}),
              ElementsAre("bob setting a 1"));
  EXPECT_THAT(lines({.limit = 1}), ElementsAre("bob setting a 1"));
  EXPECT_THAT(lines({.subject = "c"}), IsEmpty());
}

TEST_F(AuditConformance, OldLinesAreSweptAway) {
  store().configure_queue({.name = "old"}, {.paused = true, .actor = "ann"});
  advance(limits::audit_kept - 1h);
  store().configure_queue({.name = "new"}, {.paused = true, .actor = "ann"});
  (void)sweep(true);
  EXPECT_EQ(lines().size(), 2U);
  advance(2h);
  (void)sweep(false);
  EXPECT_EQ(lines().size(), 2U) << "only a sweep with retention deletes";
  (void)sweep(true);
  EXPECT_THAT(lines(), ElementsAre(R"(ann queue.configure new {"paused":true})"));
}

TEST_F(AuditConformance, HostileTextIsMadeStorable) {
  const Uuid id = admit_id(request());
  const std::string bad("a\0b\xff", 4);
  (void)store().cancel({&id, 1}, bad, ann);
  EXPECT_THAT(lines(), ElementsAre("ann execution.cancel " + id.to_string() + " a\\x00b\\xff"));
}

TEST_F(AuditConformance, WhoEnqueuedStaysWithTheExecutionAndItsNextRun) {
  NewExecution item = keyed("k");
  item.labels.actor = "token billing";
  const Uuid id = admit_id(item);
  EXPECT_EQ(get(id).labels.actor, "token billing");
  bring_to(id, Status::failed);
  EXPECT_EQ(get(id).labels.actor, "token billing");
  const RetryRequest again{.id = id, .new_id = base::new_uuid7()};
  ASSERT_EQ(store().retry({&again, 1}, ann).at(0).verdict, RetryVerdict::created);
  EXPECT_EQ(get(again.new_id).labels.actor, "token billing");
}

}  // namespace

}  // namespace hapax::conformance
