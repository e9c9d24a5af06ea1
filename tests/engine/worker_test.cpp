// The worker with its threads, on the memory store.
#include "engine/worker.hpp"
#include "engine/engine.hpp"
#include "engine/waiters.hpp"

#include "engine/world.hpp"
#include "store/open.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

namespace hapax::engine {
namespace {

using namespace std::chrono_literals;

model::NewExecution request(std::string task = "work", std::string input = "{}") {
  return new_execution(std::move(task), std::move(input));
}

// A store of which only the worker's verbs can be called, as a server has them.
class OnlyWork final : public store::WorkStore {
 public:
  explicit OnlyWork(store::Store& store) : store_(store) {}
  store::StoreInfo info() override { return store_.info(); }
  model::Exchange exchange(std::span<const model::Finish> finishes, const model::ClaimRequest* claim) override {
    return store_.exchange(finishes, claim);
  }
  void open_session(const model::NewSession& session) override { store_.open_session(session); }
  model::BeatReply beat(const model::Beat& beat) override { return store_.beat(beat); }
  std::vector<Uuid> cancel_requests(const Uuid& session) override { return store_.cancel_requests(session); }
  void close_session(const Uuid& session) override { store_.close_session(session); }
  std::vector<model::QueueInfo> queues(std::string_view namespace_name) override {
    return store_.queues(namespace_name);
  }

 private:
  store::Store& store_;
};

class WorkerTest : public ::testing::Test {
 protected:
  FaultyStore* const faults = new FaultyStore(store::open("memory:"));  // owned by the engine
  std::shared_ptr<Engine> engine = std::make_shared<Engine>(std::shared_ptr<store::Store>(faults));

  model::Outcome outcome_of(const Uuid& id) {
    auto outcome = engine->waiters().wait(id, 30s, false);
    EXPECT_TRUE(outcome.has_value()) << "still going after thirty seconds";
    return outcome.value_or(model::Outcome{});
  }

  model::Execution get(const Uuid& id) { return engine->store().get(id).value_or(model::Execution{}); }

  // Waits until `holds` returns true on account of other threads. Fails after 30 s.
  static void eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 6000 && !holds(); ++i) { std::this_thread::sleep_for(5ms); }
    EXPECT_TRUE(holds());
  }

  static RetryPolicy quick() { return {.base = 1ms, .cap = 1ms, .multiplier = 1, .jitter = Jitter::none}; }
};

TEST_F(WorkerTest, RunsWhatWasEnqueuedAndRecordsTheResult) {
  const auto admission = engine->admit(request("echo", R"({"a":1})"));
  const Worker worker(engine, {.threads = 2}, [](engine::Run& run) { return Ending::completed(run.claim().input); });
  const auto outcome = outcome_of(admission.id);
  EXPECT_EQ(outcome.status, Status::completed);
  EXPECT_EQ(outcome.result, R"({"a":1})");
}

TEST_F(WorkerTest, NeedsNoMoreThanAWorkStore) {
  const auto completed = engine->admit(request("echo", R"({"a":1})"));
  const auto failed = engine->admit(request("fail"));
  Worker worker(std::make_shared<OnlyWork>(engine->store()), {.threads = 2}, [](engine::Run& run) {
    if (run.claim().task == "fail") { return Ending::failed({.error = {.type = "No"}, .permanent = true}); }
    return Ending::completed(run.claim().input);
  });
  EXPECT_TRUE(worker.wait_until_empty(30s));
  EXPECT_EQ(outcome_of(completed.id).result, R"({"a":1})");
  EXPECT_EQ(outcome_of(failed.id).status, Status::failed);
  EXPECT_EQ(worker.stats().completed, 1);
  EXPECT_EQ(worker.stats().failed, 1);
  worker.stop();
  EXPECT_TRUE(engine->store().sessions().empty());
}

TEST_F(WorkerTest, AWaitOutlivesAnOutageOfTheStore) {
  const Uuid id = engine->admit(request()).id;
  faults->away = true;
  EXPECT_THROW((void)engine->waiters().wait(id, 0s, false), StoreUnavailable);
  EXPECT_FALSE(engine->waiters().wait(id, 50ms, false));
  std::thread back([this, &id] {
    std::this_thread::sleep_for(100ms);
    (void)faults->inner().cancel(std::span<const Uuid>(&id, 1), "no");
    faults->away = false;
  });
  EXPECT_EQ(outcome_of(id).status, Status::cancelled);
  back.join();
}

TEST_F(WorkerTest, AnIdleWorkerGetsWhatItsOwnProcessEnqueuesAtOnce) {
  std::atomic<std::int64_t> fence = 0;
  const Worker worker(engine, {.threads = 1}, [&](engine::Run& run) {
    fence = run.claim().fence;
    return Ending::completed("1");
  });
  model::Admission admission;
  // The pool's thread takes a moment to become idle.
  for (int i = 0; i < 1000 && !admission.fence; ++i) {
    admission = engine->admit(request());
    (void)outcome_of(admission.id);
  }
  ASSERT_TRUE(admission.fence) << "never born running";
  EXPECT_EQ(admission.status, Status::running);
}

TEST_F(WorkerTest, FiftyThousandTasksRunOnceEach) {
  constexpr int count = 50000;
  std::vector<model::NewExecution> batch;
  for (int i = 0; i < count; ++i) {
    batch.push_back(request());
    if (batch.size() == 5000) {
      (void)engine->admit_bulk(batch);
      batch.clear();
    }
  }
  std::atomic<int> ran = 0;
  const auto begin = std::chrono::steady_clock::now();
  Worker worker(engine, {.threads = 4}, [&](engine::Run&) {
    ran.fetch_add(1, std::memory_order_relaxed);
    return Ending::completed("null");
  });
  ASSERT_TRUE(worker.wait_until_empty(60s));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(ran.load(), count);
  EXPECT_EQ(worker.stats().completed, count);
  RecordProperty("per_second", static_cast<int>(count / took.count()));
}

// ---- Handlers that misbehave ---------------------------------------------------------------------------------------

TEST_F(WorkerTest, AHandlerMayThrowAnything) {
  struct Odd {};
  auto poor = request();
  poor.max_attempts = 1;
  std::vector<Uuid> ids;
  for (int i = 0; i < 6; ++i) {
    poor.id = base::new_uuid7();
    poor.input = std::to_string(i);
    ids.push_back(engine->admit(poor).id);
  }
  const Worker worker(engine, {.threads = 2}, [](engine::Run& run) -> Ending {
    switch (run.claim().input.front()) {
      case '0': throw std::runtime_error("broken");
      case '1': throw std::string("text");
      case '2': throw 42;
      case '3': throw Odd{};
      case '4': throw std::runtime_error(std::string("nul \0 and \xff", 11));
      default: throw StaleLease("named");
    }
  });
  for (const Uuid& id : ids) {
    const auto outcome = outcome_of(id);
    EXPECT_EQ(outcome.status, Status::failed);
    ASSERT_TRUE(outcome.error);
    EXPECT_FALSE(outcome.error->type.empty());
  }
  EXPECT_EQ(outcome_of(ids[0]).error->type, "std::runtime_error");
  EXPECT_EQ(outcome_of(ids[0]).error->message, "broken");
  EXPECT_EQ(outcome_of(ids[1]).error->message, "text");
  EXPECT_EQ(outcome_of(ids[2]).error->type, "int");
  EXPECT_EQ(outcome_of(ids[5]).error->type, "StaleLease");
}

TEST_F(WorkerTest, AResultOverTheLimitIsAPermanentFailure) {
  const auto id = engine->admit(request()).id;
  const Worker worker(engine, {.threads = 1},
                      [](engine::Run&) { return Ending::completed("\"" + std::string(1 << 20, 'x') + "\""); });
  EXPECT_EQ(outcome_of(id).status, Status::failed);
  EXPECT_EQ(outcome_of(id).error->type, "PayloadTooLarge");
  EXPECT_EQ(get(id).attempt, 1) << "it would be too large again";
}

TEST_F(WorkerTest, AHandlerThatNeverReturnsFailsItsAttemptAndTheWorkerGoesOn) {
  auto stuck = request("stuck");
  stuck.attempt_timeout = 30ms;
  stuck.max_attempts = 1;
  const auto id = engine->admit(stuck).id;
  std::latch leave(1);
  {
    Worker worker(engine, {.threads = 1, .grace = 50ms}, [&](engine::Run& run) {
      if (run.claim().task == "stuck") {
        leave.wait();
        return Ending::completed("\"late\"");
      }
      return Ending::completed("1");
    });
    const auto outcome = outcome_of(id);
    EXPECT_EQ(outcome.status, Status::failed);
    EXPECT_EQ(outcome.error->type, "Timeout");
    // The only thread is stuck in a handler; a new thread replaces it.
    EXPECT_EQ(outcome_of(engine->admit(request()).id).status, Status::completed);
    leave.count_down();
    eventually([&] { return worker.stats().running == 0; });
  }
  EXPECT_EQ(get(id).status, Status::failed) << "the late result was dropped";
  EXPECT_EQ(engine->store().attempts(id).size(), 1U) << "one failed attempt, once";
}

TEST_F(WorkerTest, TheDeadlineOfAnExecutionEndsItsRunningHandler) {
  auto late = request();
  late.deadline = 50ms;
  const auto id = engine->admit(late).id;
  const Worker worker(engine, {.threads = 1}, [](engine::Run& run) {
    while (!run.should_stop()) { std::this_thread::sleep_for(1ms); }
    return Ending::completed("1");
  });
  EXPECT_EQ(outcome_of(id).status, Status::timed_out);
}

TEST_F(WorkerTest, AFailedAttemptIsTriedAgainUntilItWorks) {
  auto flaky = request();
  flaky.retry = quick();
  flaky.max_attempts = 3;
  const auto id = engine->admit(flaky).id;
  const Worker worker(engine, {.threads = 1}, [](engine::Run& run) {
    return run.claim().attempt < 3 ? Ending::failed("Flaky", "not yet") : Ending::completed("3");
  });
  EXPECT_EQ(outcome_of(id).result, "3");
  const auto attempts = engine->store().attempts(id);
  ASSERT_EQ(attempts.size(), 3U);
  EXPECT_EQ(attempts[0].error->type, "Flaky");
}

TEST_F(WorkerTest, ASnoozeSpendsNoAttempt) {
  const auto id = engine->admit(request()).id;
  std::atomic<int> calls = 0;
  const Worker worker(engine, {.threads = 1}, [&](engine::Run& run) {
    return ++calls < 3 ? Ending::snoozed(1ms) : Ending::completed(std::to_string(run.claim().attempt));
  });
  EXPECT_EQ(outcome_of(id).result, "1");
}

// ---- Cancellation, shutdown, trouble ---------------------------------------------------------------------------------

TEST_F(WorkerTest, ARunningHandlerHearsOfItsCancellation) {
  const auto id = engine->admit(request()).id;
  std::latch running(1);
  const Worker worker(engine, {.threads = 1}, [&](engine::Run& run) {
    std::mutex mutex;
    std::condition_variable_any condition;
    std::unique_lock lock(mutex);
    running.count_down();
    condition.wait(lock, run.stop_token(), [] { return false; });
    return Ending::cancelled("asked to");
  });
  running.wait();
  (void)engine->store().cancel(std::span<const Uuid>(&id, 1), "enough");
  EXPECT_EQ(outcome_of(id).status, Status::cancelled);
}

TEST_F(WorkerTest, StopLetsHandlersFinishAndReleasesTheRest) {
  std::vector<Uuid> ids;
  for (int i = 0; i < 8; ++i) { ids.push_back(engine->admit(request()).id); }
  std::latch started(1);
  std::atomic<int> ran = 0;
  {
    Worker worker(engine, {.threads = 1, .grace = 10s, .prefetch = 8}, [&](engine::Run& run) {
      if (++ran == 1) { started.count_down(); }
      while (!run.draining()) { std::this_thread::sleep_for(1ms); }
      return Ending::completed("1");
    });
    started.wait();
    worker.stop();
  }
  int completed = 0;
  for (const Uuid& id : ids) {
    const auto execution = get(id);
    completed += execution.status == Status::completed;
    if (execution.status == Status::pending) { EXPECT_EQ(execution.attempt, 0) << "no attempt was spent"; }
  }
  EXPECT_EQ(completed, ran.load());
  EXPECT_LT(ran.load(), 8);
  EXPECT_TRUE(engine->store().sessions().empty());
}

TEST_F(WorkerTest, StopDoesNotWaitBeyondItsGrace) {
  const auto id = engine->admit(request()).id;
  std::latch started(1);
  Worker worker(engine, {.threads = 1}, [&](engine::Run& run) {
    started.count_down();
    while (!run.should_stop()) { std::this_thread::sleep_for(1ms); }
    EXPECT_EQ(run.stop_reason(), StopReason::shutdown);
    return Ending::completed("1");
  });
  started.wait();
  worker.stop(20ms);
  EXPECT_EQ(get(id).status, Status::pending);
  EXPECT_EQ(get(id).attempt, 0);
}

TEST_F(WorkerTest, OutcomesSurviveAStoreThatIsAwayForAWhile) {
  const auto id = engine->admit(request()).id;
  std::latch go(1);
  Worker worker(engine, {.threads = 1}, [&](engine::Run&) {
    go.wait();
    return Ending::completed("5");
  });
  eventually([&] { return get(id).status == Status::running; });
  faults->away = true;
  go.count_down();
  eventually([&] { return worker.stats().store_away; });
  faults->away = false;
  EXPECT_EQ(outcome_of(id).result, "5");
}

TEST_F(WorkerTest, LostAnswersLeaveNothingStuckAndNothingDoubled) {
  std::mutex mutex;
  std::multiset<Uuid> ran;
  for (int i = 0; i < 200; ++i) { (void)engine->admit(request()); }
  Worker worker(engine, {.threads = 4, .lease = 3s}, [&](engine::Run& run) {
    const std::lock_guard lock(mutex);
    ran.insert(run.claim().id);
    return Ending::completed("1");
  });
  for (int i = 0; i < 5; ++i) {
    faults->lose_replies = 1;
    (void)engine->admit(request());
    std::this_thread::sleep_for(20ms);
  }
  faults->lose_replies = 0;
  EXPECT_TRUE(worker.wait_until_empty(60s));
  EXPECT_EQ(ran.size(), 205U) << "each ran once: a claim whose answer was lost never reached a handler";
}

TEST_F(WorkerTest, ALostSessionIsReplacedAndItsWorkRunsAgain) {
  const auto id = engine->admit(request()).id;
  std::atomic<int> runs = 0;
  Worker worker(engine, {.threads = 2, .lease = 2s}, [&](engine::Run& run) {
    if (++runs == 1) {
      while (!run.should_stop()) { std::this_thread::sleep_for(1ms); }
      return Ending::completed("\"stale\"");
    }
    return Ending::completed("\"fresh\"");
  });
  eventually([&] { return runs.load() == 1; });
  // The store forgets the session, as if this process had been stopped for longer than its lease.
  engine->store().close_session(worker.session());
  EXPECT_EQ(outcome_of(id).result, "\"fresh\"");
  EXPECT_EQ(worker.stats().sessions_lost, 1);
}

TEST_F(WorkerTest, ASlowHandlerDoesNotHoldUpWhatWasTakenWithIt) {
  // Quick tasks first, so that threads take several at a time; then a slow one among quick ones.
  for (int i = 0; i < 500; ++i) { (void)engine->admit(request()); }
  (void)engine->admit(request("slow"));
  for (int i = 0; i < 500; ++i) { (void)engine->admit(request()); }
  std::atomic<int> quick_done = 0;
  std::atomic<bool> in_time = false;
  Worker worker(engine, {.threads = 2}, [&](engine::Run& run) {
    if (run.claim().task == "slow") {
      for (int i = 0; i < 20'000 && quick_done.load() < 1000; ++i) { std::this_thread::sleep_for(1ms); }
      in_time = quick_done.load() == 1000;
    } else {
      ++quick_done;
    }
    return Ending::completed("1");
  });
  EXPECT_TRUE(worker.wait_until_empty(60s));
  EXPECT_TRUE(in_time.load());
}

TEST_F(WorkerTest, RefusesOptionsThatMakeNoSense) {
  const auto start = [&](WorkerOptions options) {
    const Worker worker(engine, std::move(options), [](engine::Run&) { return Ending::completed("1"); });
  };
  EXPECT_THROW(start({.queues = {}}), InvalidArgument);
  EXPECT_THROW(start({.threads = -1}), InvalidArgument);
  EXPECT_THROW(start({.lease = 1ms}), InvalidArgument);
  EXPECT_THROW(start({.lease = 30s, .heartbeat = 20s}), InvalidArgument);
  EXPECT_THROW(start({.queues = {{"default", std::string(300, 'q')}}}), InvalidArgument);
}

}  // namespace
}  // namespace hapax::engine
