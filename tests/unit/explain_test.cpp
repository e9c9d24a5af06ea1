#include "model/explain.hpp"

#include "model/identity.hpp"

#include <gtest/gtest.h>

namespace hapax::model {
namespace {

using namespace std::chrono_literals;

const Time now = Time(Duration(1'700'000'000'000'000));

Execution pending_execution() {
  Execution execution;
  execution.queue = {.namespace_name = "default", .name = "emails"};
  execution.task = "send";
  execution.created_at = now - 1min;
  execution.run_at = now - 1min;
  return execution;
}

SessionInfo session_on(const std::string& queue, Time expires_at = now + 30s) {
  SessionInfo session;
  session.id.bytes[0] = 7;
  session.worker = "mailer-1";
  session.queues = {{.namespace_name = "default", .name = queue}};
  session.expires_at = expires_at;
  return session;
}

std::vector<std::string> codes(const ExplainFacts& facts) {
  std::vector<std::string> all;
  for (const Reason& reason : explain(facts)) { all.push_back(reason.code); }
  return all;
}

using Codes = std::vector<std::string>;

TEST(Explain, SaysThatNoWorkerTakesTheQueue) {
  const Execution execution = pending_execution();
  EXPECT_EQ(codes({.execution = execution, .now = now}), Codes{"no_worker"});
  EXPECT_EQ(codes({.execution = execution, .now = now, .sessions = {session_on("other")}}), Codes{"no_worker"});
  EXPECT_EQ(codes({.execution = execution, .now = now, .sessions = {session_on("emails", now - 1s)}}),
            Codes{"no_worker"});
}

TEST(Explain, TellsAWorkerForTheQueueFromOneForTheTask) {
  const Execution execution = pending_execution();
  SessionInfo session = session_on("emails");
  session.tasks = {"other"};
  EXPECT_EQ(codes({.execution = execution, .now = now, .sessions = {session}}), Codes{"no_worker_for_task"});
  session.tasks = {"other", "send"};
  EXPECT_EQ(codes({.execution = execution, .now = now, .sessions = {session}}), Codes{"waiting_its_turn"});
}

TEST(Explain, SaysThatAWorkerOfAnyTaskTakesNoWorkflows) {
  Execution execution = pending_execution();
  execution.kind = Kind::workflow;
  SessionInfo session = session_on("emails");
  EXPECT_EQ(codes({.execution = execution, .now = now, .sessions = {session}}), Codes{"no_worker_for_task"});
  session.tasks = {"send"};
  EXPECT_EQ(codes({.execution = execution, .now = now, .sessions = {session}}), Codes{"waiting_its_turn"});
}

TEST(Explain, TellsADelayFromARetry) {
  Execution execution = pending_execution();
  execution.run_at = now + 90s;
  const auto delayed = explain({.execution = execution, .now = now, .sessions = {session_on("emails")}});
  ASSERT_EQ(delayed.size(), 1U);
  EXPECT_EQ(delayed.front().code, "delayed");
  EXPECT_NE(delayed.front().sentence.find("in 1m30s"), std::string::npos);
  execution.attempt = 2;
  execution.error = ErrorInfo{.type = "Timeout", .message = "too slow"};
  const auto retrying = explain({.execution = execution, .now = now, .sessions = {session_on("emails")}});
  ASSERT_EQ(retrying.size(), 1U);
  EXPECT_EQ(retrying.front().code, "retrying");
  EXPECT_NE(retrying.front().sentence.find("Timeout: too slow"), std::string::npos);
}

TEST(Explain, TellsTheErrorOfTheLastAttemptWhileItWaitsForTheNext) {
  Execution execution = pending_execution();
  execution.run_at = now + 90s;
  execution.attempt = 1;
  const auto retrying = explain({.execution = execution,
                                 .now = now,
                                 .sessions = {session_on("emails")},
                                 .last_error = ErrorInfo{.type = "ExitStatus", .message = "exit status 1"}});
  EXPECT_NE(retrying.front().sentence.find("ExitStatus: exit status 1"), std::string::npos)
      << retrying.front().sentence;
}

TEST(Explain, TellsARateOfItsKeyFromOthersOfItsKey) {
  for (const bool ordered : {false, true}) {
    SCOPED_TRACE(ordered);
    Execution execution = pending_execution();
    execution.parked = true;
    execution.limit_key = {.text = "customer-7", .ordered = ordered};
    QueueInfo queue{.queue = execution.queue};
    queue.settings.limits.key_rate = RateLimit{.count = 1, .per = 1h};
    const auto first = [&](std::optional<ExplainFacts::OthersOfKey> others) {
      return explain({.execution = execution,
                      .now = now,
                      .queue = queue,
                      .sessions = {session_on("emails")},
                      .others_of_key = others})
          .front();
    };
    const Reason held = first(ExplainFacts::OthersOfKey{});
    EXPECT_EQ(held.code, "key_rate_limit");
    EXPECT_NE(held.sentence.find("1/hour"), std::string::npos) << held.sentence;
    EXPECT_NE(held.remedy.find("--key-rate-limit"), std::string::npos) << held.remedy;
    const std::string behind = ordered ? "ordering_key" : "concurrency_key";
    EXPECT_EQ(first(ExplainFacts::OthersOfKey{.running = 1, .earlier = true}).code, behind);
    EXPECT_EQ(first(std::nullopt).code, behind) << "where nobody could look";
    queue.settings.limits.key_rate.reset();
    EXPECT_EQ(first(ExplainFacts::OthersOfKey{}).code, behind);
  }
}

TEST(Explain, NamesAPausedQueueAndHowToResumeIt) {
  const Execution execution = pending_execution();
  QueueInfo queue{.queue = execution.queue};
  queue.settings.paused = true;
  const auto reasons =
      explain({.execution = execution, .now = now, .queue = queue, .sessions = {session_on("emails")}});
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(reasons.front().code, "paused");
  EXPECT_EQ(reasons.front().remedy, "hapax queue resume emails");
}

TEST(Explain, AnExecutionLostBeforeWaitsForAnIdleWorker) {
  Execution execution = pending_execution();
  execution.lost = 1;
  SessionInfo session = session_on("emails");
  session.running = 3;
  EXPECT_EQ(codes({.execution = execution, .now = now, .sessions = {session}}), Codes{"lost_before"});
  session.running = 0;
  EXPECT_EQ(codes({.execution = execution, .now = now, .sessions = {session}}), Codes{"waiting_its_turn"});
}

TEST(Explain, TellsARunningExecutionFromOneWhoseWorkerIsLost) {
  Execution execution = pending_execution();
  execution.status = Status::running;
  execution.attempt = 1;
  execution.session = session_on("emails").id;
  EXPECT_EQ(codes({.execution = execution, .now = now, .sessions = {session_on("emails")}}), Codes{"running"});
  EXPECT_EQ(codes({.execution = execution, .now = now, .sessions = {session_on("emails", now)}}),
            Codes{"session_lost"});
  EXPECT_EQ(codes({.execution = execution, .now = now}), Codes{"session_lost"});
  execution.cancel_requested = true;
  EXPECT_EQ(codes({.execution = execution, .now = now, .sessions = {session_on("emails")}}),
            (Codes{"cancelling", "running"}));
}

TEST(Explain, ADeadlineThatHasPassedComesBeforeAllElse) {
  Execution execution = pending_execution();
  execution.deadline = now;
  EXPECT_EQ(codes({.execution = execution, .now = now}), Codes{"deadline_passed"});
}

Execution keyed_execution(Status status) {
  Execution execution = pending_execution();
  execution.identity = base::Digest{};
  execution.identity_key = "payment-1";
  execution.status = status;
  return execution;
}

TEST(Explain, SaysWhatHoldsAKey) {
  Execution execution = keyed_execution(Status::completed);
  const Holding own{.holder = {.id = execution.id}, .until = now + 24h};
  const auto reasons = explain({.execution = execution, .now = now, .holding = own});
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_EQ(reasons.front().code, "completed");
  EXPECT_EQ(reasons.back().code, "holds_key");
  EXPECT_NE(reasons.back().sentence.find("'payment-1'"), std::string::npos);
  execution.status = Status::failed;
  EXPECT_EQ(codes({.execution = execution, .now = now, .holding = own}), Codes{"failed"});
}

TEST(Explain, AKeyIsHeldUntilItsWindowIsOverNotItsRecord) {
  Execution execution = keyed_execution(Status::completed);
  execution.expires_at = now + 10min;
  const Holding own{.holder = {.id = execution.id}, .until = now + 24h};
  const auto reasons = explain({.execution = execution, .now = now, .holding = own});
  ASSERT_EQ(reasons.back().code, "holds_key");
  EXPECT_NE(reasons.back().sentence.find("until " + format_time(now + 24h)), std::string::npos);
  EXPECT_EQ(reasons.back().sentence.find(format_time(now + 10min)), std::string::npos);
}

TEST(Explain, AKeyThatNobodyHoldsIsSaidToBeFree) {
  Execution execution = keyed_execution(Status::completed);
  execution.expires_at = now + 10min;
  const auto reasons = explain({.execution = execution, .now = now});
  ASSERT_EQ(reasons.back().code, "key_free");
  EXPECT_NE(reasons.back().sentence.find("'payment-1'"), std::string::npos);
  EXPECT_EQ(reasons.back().sentence.find(format_time(now + 10min)), std::string::npos);
}

TEST(Explain, NamesTheRateLimitOnlyWhenItHoldsBack) {
  const Execution execution = pending_execution();
  QueueInfo queue{.queue = execution.queue};
  queue.settings.limits.rate = RateLimit{.count = 10, .per = 1min};
  queue.ready = 1;
  const auto told = [&] {
    return codes({.execution = execution, .now = now, .queue = queue, .sessions = {session_on("emails")}});
  };
  EXPECT_EQ(told(), Codes{"waiting_its_turn"}) << "it may start now";
  queue.rate_arrival = now + 30s;
  EXPECT_EQ(told(), Codes{"rate_limit"});
  queue.rate_arrival = now - 30s;
  EXPECT_EQ(told(), Codes{"waiting_its_turn"});
  queue.ready = 20;
  EXPECT_EQ(told(), Codes{"rate_limit"}) << "not all that are due may start";
}

TEST(Explain, NamesTheLimitOfEachWorkerWhenAllAreFull) {
  const Execution execution = pending_execution();
  QueueInfo queue{.queue = execution.queue};
  queue.settings.limits.worker_concurrency = 2;
  SessionInfo other = session_on("emails");
  other.id.bytes[0] = 8;
  ExplainFacts facts{.execution = execution, .now = now, .queue = queue, .sessions = {session_on("emails"), other}};
  facts.running_here = {{facts.sessions[0].id, 2}, {other.id, 1}};
  EXPECT_EQ(codes(facts), Codes{"waiting_its_turn"});
  facts.running_here[other.id] = 2;
  EXPECT_EQ(codes(facts), Codes{"worker_concurrency"});
  facts.sessions.push_back(session_on("other"));
  facts.sessions.back().id.bytes[0] = 9;
  EXPECT_EQ(codes(facts), Codes{"worker_concurrency"}) << "a worker of another queue does not count";
}

TEST(Explain, ADeadLetterSaysHowToRetryIt) {
  Execution execution = pending_execution();
  execution.status = Status::failed;
  execution.dead = true;
  const auto reasons = explain({.execution = execution, .now = now});
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_EQ(reasons.back().code, "dead_letter");
  EXPECT_NE(reasons.back().remedy.find("hapax dlq retry " + execution.id.to_string()), std::string::npos);
  execution.dead = false;
  execution.retried_as = Uuid{};
  EXPECT_EQ(codes({.execution = execution, .now = now}), (Codes{"failed", "retried"}));
}

Execution activity_run() {
  Execution execution = pending_execution();
  execution.identity = base::Digest{};
  execution.identity_key = "activity-daily:2026-03-01T09:00:00+00:00";
  execution.parent = activity_uuid("default", "daily");
  execution.limit_key = {.text = "activity:daily", .ordered = true};
  return execution;
}

Holding held_by(const Execution& execution) { return {.holder = {.id = execution.id}, .until = {}}; }

TEST(Explain, TellsARunThatWaitsForAnEarlierOneOfItsActivity) {
  Execution execution = activity_run();
  execution.parked = true;
  const auto reasons =
      explain({.execution = execution, .now = now, .sessions = {session_on("emails")}, .holding = held_by(execution)});
  ASSERT_EQ(reasons.size(), 3U);
  EXPECT_EQ(reasons[0].code, "earlier_run");
  EXPECT_NE(reasons[0].sentence.find("the earlier runs of activity 'daily'"), std::string::npos) << reasons[0].sentence;
  EXPECT_EQ(reasons[1].code, "started_by_activity");
  EXPECT_EQ(reasons[1].sentence, "Activity 'daily' started it, as run activity-daily:2026-03-01T09:00:00+00:00.");
  EXPECT_EQ(reasons[2].code, "holds_key");
}

TEST(Explain, DoesNotTakeAnotherOrderingKeyForAnActivitys) {
  Execution execution = activity_run();
  execution.parked = true;
  execution.limit_key = {.text = "customer-7", .ordered = true};
  EXPECT_EQ(
      codes({.execution = execution, .now = now, .sessions = {session_on("emails")}, .holding = held_by(execution)}),
      (Codes{"ordering_key", "started_by_activity", "holds_key"}));
  execution.parent.reset();
  EXPECT_EQ(
      codes({.execution = execution, .now = now, .sessions = {session_on("emails")}, .holding = held_by(execution)}),
      (Codes{"ordering_key", "holds_key"}));
}

Execution waiting_workflow() {
  Execution execution = pending_execution();
  execution.kind = Kind::workflow;
  execution.task = "order";
  execution.waiting = true;
  execution.run_at = never_due;
  execution.fence = 2;
  return execution;
}

JournalEntry entry(JournalKind kind, const std::string& name, const std::string& data) {
  JournalEntry entry;
  entry.kind = static_cast<std::uint8_t>(kind);
  entry.name = name;
  entry.data = data;
  entry.at = now - 1min;
  return entry;
}

WorkflowWaits waits(std::vector<JournalEntry> entries, std::vector<Event> events = {}) {
  for (std::size_t i = 0; i < entries.size(); ++i) { entries[i].position = static_cast<std::int32_t>(i + 1); }
  return waits_of({.entries = std::move(entries), .events = std::move(events), .unreadable = ""}, now);
}

Event signal_event(const std::string& name) {
  Event event;
  event.kind = EventKind::signal;
  event.name = name;
  return event;
}

TEST(Explain, NamesTheSignalThatAWorkflowWaitsFor) {
  const Execution execution = waiting_workflow();
  const auto reasons =
      explain({.execution = execution,
               .now = now,
               .waits = waits({entry(JournalKind::signal, "go", "{}"), entry(JournalKind::signal, "go", "{}")},
                              {signal_event("go"), signal_event("goo")})});
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_EQ(reasons[0].code, "waiting");
  EXPECT_EQ(reasons[0].sentence, "The workflow waits for signal 'go'.");
  EXPECT_NE(reasons[0].remedy.find("hapax signal " + execution.id.to_string() + " go"), std::string::npos);
  EXPECT_EQ(reasons[1].code, "signals_not_taken");
  EXPECT_NE(reasons[1].sentence.find("'goo'"), std::string::npos);
}

TEST(Explain, NamesTheTimerTheTaskAndTheTimeoutThatAWorkflowWaitsFor) {
  const Execution execution = waiting_workflow();
  JournalEntry task = entry(JournalKind::task, "charge", "{}");
  task.child = Uuid{};
  const auto sentence = [&](std::vector<JournalEntry> entries) {
    return explain({.execution = execution, .now = now, .waits = waits(std::move(entries))}).front().sentence;
  };
  EXPECT_NE(sentence({entry(JournalKind::timer, "", R"({"us":120000000})")}).find("a timer that fires at"),
            std::string::npos);
  EXPECT_NE(sentence({task}).find("waits for task 'charge' (" + task.child->to_string() + ")"), std::string::npos);
  // A wait with a timeout is a signal and a timer in the journal, and one sentence.
  const std::string timed = sentence({entry(JournalKind::signal, "go", R"({"timeout_us":120000000})"),
                                      entry(JournalKind::timer, "", R"({"us":120000000})")});
  EXPECT_NE(timed.find("waits for signal 'go', until "), std::string::npos) << timed;
  EXPECT_EQ(timed.find("timer"), std::string::npos) << timed;
}

TEST(Explain, AWaitThatTimedOutIsNotWaitedForAnyMore) {
  const WorkflowWaits left = waits(
      {entry(JournalKind::signal, "go", R"({"timeout_us":1000})"), entry(JournalKind::timer, "", R"({"us":1000})"),
       entry(JournalKind::choice, "any", R"({"index":1})"), entry(JournalKind::signal, "stop", "{}")});
  ASSERT_EQ(left.open.size(), 1U);
  EXPECT_EQ(left.open.front().name, "stop");
}

TEST(Explain, NeverAdvisesHapaxWorkForAWorkflow) {
  Execution execution = pending_execution();
  execution.kind = Kind::workflow;
  for (const auto& sessions : {std::vector<SessionInfo>{}, std::vector<SessionInfo>{session_on("emails")}}) {
    for (const Reason& reason : explain({.execution = execution, .now = now, .sessions = sessions})) {
      EXPECT_EQ(reason.remedy.find("hapax work"), std::string::npos) << reason.remedy;
      EXPECT_NE(reason.remedy.find("a handler for"), std::string::npos) << reason.remedy;
    }
  }
}

TEST(Explain, TellsABadPayloadFromAChangedBuildAndFromAnUnreadableJournal) {
  Execution execution = waiting_workflow();
  execution.stuck = "at place 1 the journal has step 'a', the code asks for step 'b'";
  EXPECT_EQ(codes({.execution = execution, .now = now}), Codes{"stuck"});

  execution.stuck.clear();
  const std::string message = "signal 'go' is \"x\", expected int: no number";
  const WorkflowWaits after = waits({entry(JournalKind::signal, "go", "{}"),
                                     entry(JournalKind::invalid, "go",
                                           R"({"of":1,"error":{"type":"InvalidSignal",)"
                                           R"("message":"signal 'go' is \"x\", expected int: no number"}})"),
                                     entry(JournalKind::signal, "go", "{}")},
                                    {signal_event("go")});
  const auto went_on = explain({.execution = execution, .now = now, .waits = after});
  ASSERT_EQ(went_on.size(), 2U);
  EXPECT_EQ(went_on[1].code, "invalid_payload");
  EXPECT_NE(went_on[1].sentence.find(message), std::string::npos) << went_on[1].sentence;

  EXPECT_EQ(codes({.execution = execution, .now = now, .journal_trouble = "no key"}), Codes{"journal_unreadable"});

  execution.status = Status::failed;
  execution.error = ErrorInfo{.type = "InvalidSignal", .message = message};
  const auto failed = explain({.execution = execution, .now = now});
  ASSERT_GE(failed.size(), 2U);
  EXPECT_NE(failed[0].sentence.find(message), std::string::npos);
  EXPECT_EQ(failed[1].code, "invalid_payload");
}

}  // namespace
}  // namespace hapax::model
