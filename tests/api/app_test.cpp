// The public API as a program uses it, on every store.
#include "api/stores.hpp"

#include <atomic>
#include <latch>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

namespace shop {
struct Order {
  std::string id;
  double total = 0;
};
struct Payment {
  std::string payment_id;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, total)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Payment, payment_id)
}  // namespace shop

namespace hapax {
namespace {

using namespace std::chrono_literals;
using shop::Order;
using shop::Payment;

const Task<Order, Payment> charge_card{"charge_card", {.queue = "payments", .max_attempts = 6}};
const Task<std::string> say{"say"};
const JsonTask echo{"echo"};
const RetryPolicy quick{.base = 1ms, .cap = 1ms, .multiplier = 1, .jitter = Jitter::none};

class AppTest : public OnStore {};
INSTANTIATE_TEST_SUITE_P(Stores, AppTest, all_stores, [](const auto& tested) { return tested.param; });

TEST_P(AppTest, TheSameKeyIsOnePayment) {
  auto app = open();
  std::atomic<int> charged = 0;
  app.handle(charge_card, [&](TaskContext& ctx, const Order& order) {
    ++charged;
    return Payment{order.id + "/" + ctx.effect_key().substr(0, 3)};
  });
  auto worker = app.work({.queues = {"payments"}, .threads = 8});
  auto handle = app.enqueue(charge_card, {"456", 99.99}, {.task_id = "charge-order-456"});
  auto same = app.enqueue(charge_card, {"456", 99.99}, {.task_id = "charge-order-456"});
  EXPECT_TRUE(handle.created());
  EXPECT_FALSE(same.created());
  EXPECT_EQ(same.id(), handle.id());
  EXPECT_TRUE(same.deduplicated_from().has_value());
  const Payment paid = same.result();
  EXPECT_EQ(paid.payment_id, "456/hx_");
  EXPECT_EQ(handle.result().payment_id, paid.payment_id);
  EXPECT_EQ(charged.load(), 1);
  EXPECT_EQ(handle.status(), Status::completed);
}

TEST_P(AppTest, ADuplicateMayBeAnErrorWithTheFacts) {
  auto app = open();
  const auto first = app.enqueue(charge_card, {"1", 1}, {.task_id = "payment-123"});
  try {
    (void)app.enqueue(charge_card, {"1", 1}, {.task_id = "payment-123", .on_conflict = OnConflict::reject});
    FAIL() << "was admitted twice";
  } catch (const TaskAlreadyExists& error) {
    EXPECT_EQ(error.existing_execution_id, first.id());
    EXPECT_EQ(error.status, Status::pending);
    EXPECT_STREQ(error.what(), "Task with ID 'payment-123' is already pending");
  }
  EXPECT_THROW((void)app.enqueue(charge_card, {"2", 1}, {.task_id = "payment-123"}), IdempotencyMismatch);
  app.handle(charge_card, [](const Order&) { return Payment{"p"}; });
  auto worker = app.work({.queues = {"payments"}});
  EXPECT_EQ(first.result().payment_id, "p");
  try {
    (void)app.enqueue(charge_card, {"1", 1}, {.task_id = "payment-123", .on_conflict = OnConflict::reject});
    FAIL() << "was admitted twice";
  } catch (const TaskAlreadyCompleted& error) { EXPECT_EQ(error.result, R"({"payment_id":"p"})"); }
}

TEST_P(AppTest, WaitAnswersWhenTheHolderHasEnded) {
  auto app = open();
  std::latch go(1);
  app.handle(charge_card, [&](const Order&) {
    go.wait();
    return Payment{"p"};
  });
  auto worker = app.work({.queues = {"payments"}});
  const auto first = app.enqueue(charge_card, {"1", 1}, {.task_id = "k"});
  std::jthread later([&] { go.count_down(); });
  const auto second = app.enqueue(charge_card, {"1", 1}, {.task_id = "k", .on_conflict = OnConflict::wait});
  EXPECT_EQ(second.status(), Status::completed);
}

TEST_P(AppTest, TasksWithoutAResultAndTasksWithoutTypes) {
  auto app = open();
  std::mutex mutex;
  std::string said;
  app.handle(say, [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    said = text;
  });
  app.handle(echo, [](TaskContext&, const nlohmann::json& json) { return nlohmann::json{{"got", json}}; });
  auto worker = app.work();
  app.enqueue(say, "hello").result();
  EXPECT_EQ(said, "hello");
  EXPECT_EQ(app.enqueue(echo, {{"a", 1}}).result(), (nlohmann::json{{"got", {{"a", 1}}}}));
}

TEST_P(AppTest, AFailureIsAnExceptionWithItsStory) {
  auto app = open();
  app.handle(say, [](const std::string&) { throw Permanent("no such mailbox"); });
  auto worker = app.work();
  const auto handle = app.enqueue(say, "x");
  try {
    handle.result();
    FAIL() << "did not throw";
  } catch (const ExecutionFailed& error) {
    EXPECT_EQ(error.name(), "ExecutionFailed");
    EXPECT_EQ(error.status, Status::failed);
    EXPECT_NE(std::string(error.what()).find("no such mailbox"), std::string::npos);
  }
  const auto record = app.get(handle.id());
  ASSERT_TRUE(record);
  EXPECT_TRUE(record->dead);
  EXPECT_EQ(record->attempt, 1);
  EXPECT_EQ(app.explain(handle.id()).front().code, "failed");
}

TEST_P(AppTest, RetriesAndDeadLettersAndRunsUnderOneKey) {
  auto app = open();
  std::atomic<bool> mended = false;
  std::mutex mutex;
  std::set<std::string> effect_keys;
  app.handle(say, [&](TaskContext& ctx, const std::string&) {
    {
      const std::lock_guard lock(mutex);
      effect_keys.insert(ctx.effect_key());
    }
    if (!mended) { throw std::runtime_error("down"); }
  });
  auto worker = app.work();
  const auto handle = app.enqueue(say, "x", {.task_id = "k", .max_attempts = 2, .retry = quick});
  EXPECT_EQ(handle.wait(), Status::failed);
  EXPECT_EQ(app.attempts(handle.id()).size(), 2U);
  EXPECT_EQ(app.list({.dead_only = true}).size(), 1U);
  mended = true;
  const auto again = app.retry(handle.id());
  EXPECT_EQ(again.run(), 2);
  EXPECT_EQ(again.wait(), Status::completed);
  EXPECT_EQ(effect_keys.size(), 1U) << "the same for all attempts and runs";
  EXPECT_TRUE(app.list({.dead_only = true}).empty());
  EXPECT_THROW((void)app.retry(again.id()), WrongStatus);
  EXPECT_THROW((void)app.retry(Uuid{}), NotFound);
}

TEST_P(AppTest, RetryAfterAndSnooze) {
  auto app = open();
  std::atomic<int> calls = 0;
  app.handle(say, [&](TaskContext& ctx, const std::string&) {
    switch (++calls) {
      case 1: throw Snooze(1ms);
      case 2: EXPECT_EQ(ctx.attempt(), 1) << "a snooze spends no attempt"; throw RetryAfter(1ms, "busy");
      default: EXPECT_EQ(ctx.attempt(), 2);
    }
  });
  auto worker = app.work();
  app.enqueue(say, "x").result_for(20s);
  EXPECT_EQ(calls.load(), 3);
}

TEST_P(AppTest, OnceIsRecordedAndNotRunAgain) {
  auto app = open();
  std::atomic<int> effects = 0;
  app.handle(say, [&](TaskContext& ctx, const std::string&) {
    const int number = ctx.once("reserve", [&] { return ++effects; });
    EXPECT_EQ(number, 1);
    ctx.once("notify", [&] { ++effects; });
    EXPECT_EQ(ctx.once("reserve", [&] { return ++effects; }), 1);
    if (ctx.attempt() < 3) { throw std::runtime_error("after the effect"); }
  });
  auto worker = app.work();
  app.enqueue(say, "x", {.retry = quick}).result_for(20s);
  EXPECT_EQ(effects.load(), 2);
}

TEST_P(AppTest, DelaysAndCancellation) {
  auto app = open();
  app.handle(say, [](const std::string&) {});
  auto worker = app.work();
  const auto later = app.enqueue(say, "later", {.delay = 1h});
  EXPECT_FALSE(later.wait_for(30ms));
  EXPECT_THROW(later.result_for(1ms), WaitTimeout);
  EXPECT_EQ(app.explain(later.id()).front().code, "delayed");
  EXPECT_EQ(later.cancel("not needed"), CancelAnswer::cancelled);
  EXPECT_EQ(later.cancel("again"), CancelAnswer::finished);
  EXPECT_THROW(later.result(), ExecutionFailed);
  EXPECT_EQ(later.status(), Status::cancelled);
  const auto soon = app.enqueue(say, "soon", {.delay = 20ms});
  EXPECT_TRUE(soon.wait_for(20s));
}

TEST_P(AppTest, TagsMetadataAndTraceReachTheHandler) {
  auto app = open();
  std::latch ran(1);
  app.handle(say, [&](TaskContext& ctx, const std::string&) {
    EXPECT_EQ(ctx.tags(), (std::vector<std::string>{"red", "blue"}));
    EXPECT_EQ(ctx.metadata(), (nlohmann::json{{"tenant", 7}}));
    EXPECT_EQ(ctx.traceparent(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    ran.count_down();
  });
  auto worker = app.work();
  const auto handle = app.enqueue(say, "x",
                                  {.tags = {"red", "blue"},
                                   .metadata = {{"tenant", 7}},
                                   .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"});
  ran.wait();
  EXPECT_EQ(handle.wait(), Status::completed);
  EXPECT_EQ(app.list({.tag = "red"}).size(), 1U);
  EXPECT_TRUE(app.list({.tag = "green"}).empty());
}

TEST_P(AppTest, MiddlewareRunsAroundHandlersOutermostFirst) {
  auto app = open();
  std::mutex mutex;
  std::string order;
  const auto note = [&](const char* what) {
    const std::lock_guard lock(mutex);
    order += what;
  };
  app.use([&](TaskContext&, const std::function<void()>& next) {
    note("(");
    next();
    note(")");
  });
  app.use([&](TaskContext&, const std::function<void()>& next) {
    note("[");
    next();
    note("]");
  });
  app.handle(echo, [&](const nlohmann::json& json) {
    note("x");
    return json;
  });
  auto worker = app.work();
  EXPECT_EQ(app.enqueue(echo, 5).result(), 5);
  EXPECT_EQ(order, "([x])");
}

TEST_P(AppTest, FuturesAndManyProducersAtOnce) {
  auto app = open();
  app.handle(echo, [](const nlohmann::json& json) { return json; });
  auto worker = app.work({.threads = 2});
  std::vector<std::future<Handle<nlohmann::json>>> futures;
  futures.reserve(50);
  for (int i = 0; i < 50; ++i) { futures.push_back(app.enqueue_async(echo, i)); }
  for (int i = 0; i < 50; ++i) { EXPECT_EQ(futures[static_cast<std::size_t>(i)].get().result(), i); }
  std::vector<std::jthread> producers;
  std::atomic<int> created = 0;
  for (int t = 0; t < 8; ++t) {
    producers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        created += app.enqueue(echo, i, {.task_id = "herd-" + std::to_string(i)}).created();
      }
    });
  }
  producers.clear();
  EXPECT_EQ(created.load(), 20) << "one execution a key, whoever asked";
  auto refused = app.enqueue_async(echo, 1, {.task_id = ""});
  EXPECT_THROW((void)refused.get(), InvalidIdempotencyKey);
}

TEST_P(AppTest, BulkIsStreamedInBatchesWithAnAnswerForEach) {
  auto app = open();
  std::vector<std::size_t> steps;
  int next = 0;
  const auto report = app.enqueue_many(
      echo,
      [&]() -> std::optional<nlohmann::json> {
        return next < 2500 ? std::optional<nlohmann::json>(next++) : std::nullopt;
      },
      {.batch = 1000, .progress = [&](const BulkProgress& progress) { steps.push_back(progress.admitted); }});
  EXPECT_EQ(report.created, 2500U);
  EXPECT_EQ(report.admissions.size(), 2500U);
  EXPECT_EQ(steps, (std::vector<std::size_t>{1000, 2000, 2500}));
  std::vector<BulkItem<std::string>> items;
  for (const char* key : {"a", "b", "a"}) { items.push_back({"same", {.task_id = key}}); }
  const auto keyed = app.enqueue_many(say, items);
  EXPECT_EQ(keyed.created, 2U);
  EXPECT_EQ(keyed.deduplicated, 1U);
  EXPECT_EQ(keyed.admissions[2].id, keyed.admissions[0].id);
  items.assign(3, {"x", {.priority = 40000}});
  try {
    (void)app.enqueue_many(say, items);
    FAIL() << "was taken";
  } catch (const InvalidArgument& error) { EXPECT_EQ(error.field(), "items[0]"); }
  EXPECT_THROW((void)app.enqueue_many(say, items, {.batch = 0}), InvalidArgument);
}

TEST_P(AppTest, QueuesArePausedDrainedPurgedAndMoved) {
  auto app = open();
  app.handle(say, [](const std::string&) {});
  app.pause("default");
  auto worker = app.work();
  const auto handle = app.enqueue(say, "x");
  EXPECT_FALSE(handle.wait_for(50ms));
  EXPECT_EQ(app.explain(handle.id()).front().code, "paused");
  app.resume("default");
  EXPECT_TRUE(handle.wait_for(20s));
  (void)app.enqueue(say, "y", {.queue = "other"});
  (void)app.enqueue(say, "z", {.queue = "other"});
  EXPECT_EQ(app.admin().move("other", "third", {.create = true}), 2U);
  const PurgeAnswer purged = app.admin().purge("third");
  EXPECT_EQ(purged.cancelled, 2U);
  EXPECT_EQ(purged.requested, 0U);
  app.drain("other");
  EXPECT_THROW((void)app.enqueue(say, "x", {.queue = "other"}), QueueDraining);
}

TEST_P(AppTest, InputThatNoJsonCanHoldIsRefusedInPlainWords) {
  auto app = open();
  const auto message = [&](const nlohmann::json& input) -> std::string {
    try {
      (void)app.enqueue(echo, input);
    } catch (const InvalidArgument& error) { return error.what(); }
    return "was taken";
  };
  const std::string text = message("caf\xe9");
  EXPECT_TRUE(text.starts_with("input: ")) << text;
  EXPECT_NE(text.find("expected UTF-8"), std::string::npos) << text;
  EXPECT_EQ(text.find("json.exception"), std::string::npos) << text;
  EXPECT_NE(message(std::nan("")).find("expected a finite one, or null"), std::string::npos);
  EXPECT_TRUE(app.list().empty());
}

TEST_P(AppTest, AnEventOfABatchIsRefusedWithTheErrorThatOneWouldGet) {
  auto app = open();
  const std::vector<std::string> events = {R"({"specversion":"1.0","id":"1","source":"/s","type":"t"})", "{broken"};
  try {
    (void)app.send_events(events);
    FAIL() << "was taken";
  } catch (const InvalidJson& error) {
    EXPECT_EQ(error.name(), "InvalidJson");
    EXPECT_EQ(error.field(), "events[1]");
    EXPECT_TRUE(std::string(error.what()).starts_with("events[1]: ")) << error.what();
  }
}

TEST_P(AppTest, BadInputIsRefusedByNameBeforeAnythingIsWritten) {
  auto app = open();
  EXPECT_THROW((void)app.enqueue(say, "x", {.queue = ""}), InvalidArgument);
  EXPECT_THROW((void)app.enqueue(say, "x", {.queue = std::string(300, 'q')}), InvalidArgument);
  EXPECT_THROW((void)app.enqueue(say, "x", {.delay = -1s}), InvalidArgument);
  EXPECT_THROW((void)app.enqueue(say, "x", {.delay = 24h * 4000}), InvalidArgument);
  EXPECT_THROW((void)app.enqueue(say, "x", {.priority = 40000}), InvalidArgument);
  EXPECT_THROW((void)app.enqueue(say, "x", {.max_attempts = 0}), InvalidArgument);
  EXPECT_THROW((void)app.enqueue(say, "x", {.delay = 1s, .run_at = Time{}}), InvalidArgument);
  EXPECT_THROW((void)app.enqueue(say, "x", {.metadata = 5}), InvalidArgument);
  EXPECT_THROW((void)app.enqueue(say, std::string(2 << 20, 'x')), PayloadTooLarge);
  EXPECT_THROW((void)app.enqueue(say, "\xff\xfe"), InvalidArgument);
  EXPECT_THROW((void)app.enqueue(say, "x", {.task_id = std::string(256, 'k')}), InvalidIdempotencyKey);
  EXPECT_THROW((void)app.enqueue_json({"say", {}}, "{broken"), InvalidJson);
  EXPECT_THROW((void)app.work(), UsageError) << "no handlers";
  EXPECT_THROW((void)app.list({.limit = 0}), InvalidArgument);
  EXPECT_TRUE(app.list().empty());
}

TEST_P(AppTest, AHandlerThatReturnsBrokenTextStillCompletes) {
  auto app = open();
  app.handle(echo, [](const nlohmann::json&) { return nlohmann::json("broken \xff text"); });
  app.handle(say, [](const std::string&) { throw std::runtime_error(std::string("nul \0 and \xff", 11)); });
  auto worker = app.work();
  EXPECT_EQ(app.enqueue(echo, 1).wait(), Status::completed);
  EXPECT_EQ(app.enqueue(say, "x", {.max_attempts = 1}).wait(), Status::failed);
}

TEST_P(AppTest, InputOfAnotherShapeIsADeadLetterAtOnce) {
  auto app = open();
  app.handle(charge_card, [](const Order&) { return Payment{}; });
  auto worker = app.work({.queues = {"payments"}});
  const auto handle = app.enqueue_json(charge_card.spec(), R"({"unexpected":true})");
  EXPECT_EQ(handle.wait(), Status::failed);
  EXPECT_EQ(app.get(handle.id())->error->type, "InvalidInput");
  EXPECT_EQ(app.get(handle.id())->attempt, 1);
}

TEST_P(AppTest, ARunningHandlerIsCancelledCooperatively) {
  auto app = open();
  std::latch running(1);
  app.handle(say, [&](TaskContext& ctx, const std::string&) {
    running.count_down();
    ctx.progress(0.5, "half way");
    while (true) {
      ctx.throw_if_cancelled();
      std::this_thread::sleep_for(1ms);
    }
  });
  auto worker = app.work();
  const auto handle = app.enqueue(say, "x");
  running.wait();
  EXPECT_EQ(handle.cancel("ordered twice"), CancelAnswer::requested);
  EXPECT_EQ(handle.wait(), Status::cancelled);
  const auto error = app.get(handle.id())->error.value_or(ErrorDetails{});
  EXPECT_EQ(error.type, "Cancelled");
  EXPECT_EQ(error.message, "ordered twice");
  EXPECT_FALSE(error.detail.empty()) << "what the handler threw";
}

TEST_P(AppTest, ANumberThatIsNotFiniteIsRefusedAtTheDoor) {
  auto app = open();
  EXPECT_THROW(app.enqueue(charge_card, {"1", std::numeric_limits<double>::quiet_NaN()}), InvalidArgument);
  EXPECT_THROW(app.enqueue(charge_card, {"1", std::numeric_limits<double>::infinity()}), InvalidArgument);
  EXPECT_TRUE(app.list({}).empty());
}

TEST_P(AppTest, ARawResultThatIsNotJsonIsAPermanentFailure) {
  auto app = open();
  app.handle_json(echo.spec(), [](TaskContext&, const std::string&) { return std::string("oops \xff"); });
  auto worker = app.work({});
  const auto handle = app.enqueue_json(echo.spec(), "1");
  EXPECT_EQ(handle.wait(), Status::failed);
  EXPECT_EQ(app.get(handle.id())->error->type, "InvalidResult");
  EXPECT_EQ(app.get(handle.id())->attempt, 1);
}

TEST_P(AppTest, AnotherNamespacesExecutionsAreNotThere) {
  auto app = open();
  auto other = hapax::open(url_, {.namespace_name = "other", .migrate = true});
  const auto handle = app.enqueue(say, "hello");
  EXPECT_EQ(other.cancel(handle.id()), CancelAnswer::not_found);
  EXPECT_THROW((void)other.retry(handle.id()), NotFound);
  EXPECT_THROW((void)other.find_any(handle.id()), NotFound);
  EXPECT_TRUE(other.attempts(handle.id()).empty());
  EXPECT_EQ(app.cancel(handle.id()), CancelAnswer::cancelled);
  const Uuid id = handle.id();
  EXPECT_EQ(other.admin().annotate(std::span<const Uuid>(&id, 1), "mine"), 0);
  EXPECT_EQ(app.get(id)->status, Status::cancelled);
}

TEST_P(AppTest, ARetentionThatNoClockCanHoldIsRefused) {
  auto app = open();
  EXPECT_THROW(app.configure_queue("q", {.retention = Duration::max()}), InvalidArgument);
  EXPECT_THROW(app.configure_queue("q", {.failed_retention = Duration(-1)}), InvalidArgument);
}

TEST_P(AppTest, AnAsynchronousWaitForTheHolderEndsWithItsTime) {
  auto app = open();
  const auto first = app.enqueue(say, "hello", {.task_id = "k"});
  auto second =
      app.enqueue_async(say, "hello", {.task_id = "k", .on_conflict = OnConflict::wait, .wait_timeout = 50ms});
  EXPECT_EQ(second.get().id(), first.id());
}

}  // namespace
}  // namespace hapax
