// Identity strategies, windows, modes and limits as a program uses them, on every store.
#include "api/stores.hpp"

#include "app/app_state.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

namespace hapax {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const JsonTask by_input{"by_input", {.identity_strategy = IdentityStrategy::strict}};
const JsonTask by_fields{"by_fields",
                         {.identity_strategy = IdentityStrategy::contextual, .identity_keys = {"/customer", "/month"}}};
const JsonTask by_key{"by_key", {.identity_strategy = IdentityStrategy::caller_provided}};
const JsonTask each_time{"each_time", {.identity_strategy = IdentityStrategy::always_unique}};
const JsonTask bare{"bare"};

class IdentityTest : public OnStore {};
INSTANTIATE_TEST_SUITE_P(Stores, IdentityTest, all_stores, [](const auto& tested) { return tested.param; });

// ---- Strategies ----------------------------------------------------------------------------------------------------

TEST_P(IdentityTest, AStrictTaskIsTheSameByItsWholeInput) {
  auto app = open();
  const auto first = app.enqueue(by_input, {{"a", 1}, {"b", 2}});
  const auto same = app.enqueue(by_input, json::parse(R"({"b": 2.0, "a": 1})"));
  EXPECT_TRUE(first.created());
  EXPECT_FALSE(same.created());
  EXPECT_EQ(same.id(), first.id());
  EXPECT_TRUE(app.enqueue(by_input, {{"a", 1}, {"b", 3}}).created());
  const auto record = app.get(first.id());
  EXPECT_EQ(record->task_id, "");
  EXPECT_EQ(record->identity.size(), 64U);
}

TEST_P(IdentityTest, AContextualTaskIsTheSameByItsFields) {
  auto app = open();
  const auto first = app.enqueue(by_fields, {{"customer", 7}, {"month", "2026-03"}, {"asked_by", "ann"}});
  const auto same = app.enqueue(by_fields, {{"customer", 7}, {"month", "2026-03"}, {"asked_by", "ben"}});
  EXPECT_EQ(same.id(), first.id());
  EXPECT_TRUE(app.enqueue(by_fields, {{"customer", 7}, {"month", "2026-04"}}).created());
  EXPECT_THROW(app.enqueue(by_fields, {{"customer", 7}}), InvalidArgument);
}

TEST_P(IdentityTest, ATaskThatWantsAKeyIsRefusedWithoutOne) {
  auto app = open();
  EXPECT_THROW(app.enqueue(by_key, 1), IdempotencyKeyRequired);
  EXPECT_TRUE(app.list().empty());
  EXPECT_TRUE(app.enqueue(by_key, 1, {.task_id = "k"}).created());
  EXPECT_FALSE(app.enqueue(by_key, 1, {.task_id = "k"}).created());
}

// A bulk enqueue refuses an item with the error of a single enqueue: the same type, name and facts, plus the index.
TEST_P(IdentityTest, ABulkEnqueueIsRefusedWithTheErrorThatOneWouldGet) {
  auto app = open();
  const auto refusal = [&](const JsonTask& task, BulkItem<json> bad) -> std::exception_ptr {
    const std::vector<BulkItem<json>> items = {{1, {.task_id = "good"}}, std::move(bad)};
    try {
      (void)app.enqueue_many(task, items);
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.field(), "items[1]");
      EXPECT_TRUE(std::string(error.what()).starts_with("items[1]: ")) << error.what();
      return std::current_exception();
    }
    return nullptr;
  };
  const auto is = [](const std::exception_ptr& thrown, auto* type, const std::string& name) {
    ASSERT_TRUE(thrown);
    try {
      std::rethrow_exception(thrown);
    } catch (const std::remove_pointer_t<decltype(type)>& error) {
      EXPECT_EQ(error.name(), name);
    } catch (const Error& error) { FAIL() << error.name() << ": " << error.what(); }
  };
  is(refusal(by_key, {2, {}}), static_cast<IdempotencyKeyRequired*>(nullptr), "IdempotencyKeyRequired");
  is(refusal(by_key, {2, {.task_id = "a\nb"}}), static_cast<InvalidIdempotencyKey*>(nullptr), "InvalidIdempotencyKey");
  is(refusal(bare, {std::string(2 << 20, 'x'), {}}), static_cast<PayloadTooLarge*>(nullptr), "PayloadTooLarge");
  json deep = 1;
  for (int depth = 0; depth < 65; ++depth) { deep = json::array({std::move(deep)}); }
  is(refusal(bare, {deep, {}}), static_cast<InvalidJson*>(nullptr), "InvalidJson");
  is(refusal(bare, {1, {.priority = 40000}}), static_cast<InvalidArgument*>(nullptr), "InvalidArgument");
  EXPECT_TRUE(app.list().empty()) << "nothing of the batch was written";
}

TEST_P(IdentityTest, UniqueTasksAndBareNamesRunEachTime) {
  auto app = open();
  for (const JsonTask* task : {&each_time, &bare}) {
    EXPECT_TRUE(app.enqueue(*task, 1).created());
    EXPECT_TRUE(app.enqueue(*task, 1).created());
    EXPECT_EQ(app.get(app.enqueue(*task, 1).id())->identity, "");
    EXPECT_TRUE(app.enqueue(*task, 1, {.task_id = "k"}).created());
    EXPECT_FALSE(app.enqueue(*task, 1, {.task_id = "k"}).created()) << "a key counts before the strategy";
  }
}

TEST_P(IdentityTest, RefusalsOfAMadeIdentityNameTheTask) {
  auto app = open();
  const auto first = app.enqueue(by_input, 1);
  try {
    app.enqueue(by_input, 1, {.on_conflict = OnConflict::reject});
    FAIL();
  } catch (const TaskAlreadyExists& error) {
    EXPECT_EQ(error.existing_execution_id, first.id());
    EXPECT_EQ(std::string(error.what()), "Task 'by_input' with the same input is already pending");
  }
}

TEST_P(IdentityTest, BulkFollowsTheStrategyToo) {
  auto app = open();
  (void)app.enqueue(by_input, 3);
  const BulkReport report = app.enqueue_many(by_input, std::vector<json>{1, 2, 1, 3, 1.0});
  EXPECT_EQ(report.created, 2U);
  EXPECT_EQ(report.deduplicated, 3U);
  EXPECT_EQ(report.admissions[2].id, report.admissions[0].id);
  EXPECT_EQ(report.admissions[4].id, report.admissions[0].id);
  EXPECT_FALSE(report.admissions[3].created);
}

TEST_P(IdentityTest, BulkTellsSinceWhenADuplicateIsThere) {
  auto app = open();
  const auto first = app.enqueue(by_input, 3);
  const BulkReport report = app.enqueue_many(by_input, std::vector<json>{1, 3});
  EXPECT_FALSE(report.admissions[0].deduplicated_from);
  EXPECT_EQ(report.admissions[1].deduplicated_from, app.enqueue(by_input, 3).deduplicated_from());
  EXPECT_TRUE(report.admissions[1].deduplicated_from);
  EXPECT_EQ(report.admissions[1].id, first.id());
}

TEST_P(IdentityTest, ADuplicateWaitsForTheFirstsResult) {
  auto app = open();
  std::atomic<int> runs = 0;
  std::atomic<bool> go = false;
  app.handle(by_input, [&](const json& input) {
    ++runs;
    while (!go) { std::this_thread::sleep_for(1ms); }
    return json{{"got", input}};
  });
  auto worker = app.work({.threads = 2});
  auto first = app.enqueue(by_input, 5);
  while (runs == 0) { std::this_thread::sleep_for(1ms); }
  auto same = app.enqueue(by_input, 5);
  EXPECT_EQ(same.status(), Status::running);
  std::thread release([&] {
    std::this_thread::sleep_for(20ms);
    go = true;
  });
  EXPECT_EQ(same.result(), (json{{"got", 5}}));
  EXPECT_EQ(first.result(), same.result());
  EXPECT_EQ(runs, 1);
  release.join();
}

// ---- The catalogue -------------------------------------------------------------------------------------------------

TEST_P(IdentityTest, ConflictingDeclarationsAreErrorsThatNameBothSides) {
  auto app = open();
  (void)app.enqueue(by_input, 1);
  const JsonTask otherwise{"by_input", {.identity_strategy = IdentityStrategy::always_unique}};
  try {
    (void)app.enqueue(otherwise, 1);
    FAIL();
  } catch (const ConflictingDeclaration& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("strict there and always_unique here"), std::string::npos) << message;
  }
  EXPECT_THROW(app.handle(otherwise, [](const json& input) { return input; }), ConflictingDeclaration);
}

TEST_P(IdentityTest, ADeclarationCountsForEveryDoor) {
  auto app = open();
  (void)app.enqueue(by_input, 1);
  const JsonTask same_name{"by_input"};  // names no strategy, so the catalogue's applies
  EXPECT_FALSE(app.enqueue(same_name, 1).created());
  EXPECT_FALSE(app.enqueue_json({.name = "by_input"}, "1").created());
}

TEST_P(IdentityTest, WhatAnotherProcessCataloguesIsSeenWithinTwoSeconds) {
  auto app = open();
  EXPECT_TRUE(app.enqueue(bare, 1).created());
  app.state()->store().put_task(
      {.name = "bare", .definition = R"({"queue":"elsewhere","max_attempts":9})", .origin = "file"}, "ann");
  std::this_thread::sleep_for(1100ms);
  const auto first = app.enqueue(bare, 2);
  EXPECT_TRUE(first.created());
  EXPECT_FALSE(app.enqueue(bare, 2).created()) << "catalogued: strict unless it says otherwise";
  const auto record = app.get(first.id());
  EXPECT_EQ(record->queue, "elsewhere");
  EXPECT_EQ(record->max_attempts, 9);
  EXPECT_EQ(app.get(app.enqueue(bare, 3, {.queue = "mine", .max_attempts = 2}).id())->queue, "mine");
}

TEST_P(IdentityTest, TheDefaultStrategyOfCataloguedTasksIsASetting) {
  auto app = open();
  app.state()->store().put_task({.name = "bare", .definition = "{}", .origin = "file"}, "ann");
  app.state()->store().put_setting("default", {.name = "identity.default", .value = "caller_provided"}, "ann");
  EXPECT_THROW(app.enqueue(bare, 1), IdempotencyKeyRequired);
}

TEST_P(IdentityTest, AnImpossibleDeclarationIsRefusedAtItsFirstUse) {
  auto app = open();
  EXPECT_THROW(app.enqueue(JsonTask{"x", {.identity_strategy = IdentityStrategy::contextual}}, 1), InvalidArgument);
  EXPECT_THROW(
      app.enqueue(JsonTask{"x", {.identity_strategy = IdentityStrategy::contextual, .identity_keys = {"a"}}}, 1),
      InvalidArgument);
  EXPECT_TRUE(app.state()->store().catalogue("default").tasks.empty());
}

// ---- Scopes, fingerprints, windows ---------------------------------------------------------------------------------

TEST_P(IdentityTest, ScopeAndFingerprintAreTheTasks) {
  auto app = open();
  const JsonTask one{"one",
                     {.identity_strategy = IdentityStrategy::caller_provided, .identity_scope = IdentityScope::global}};
  const JsonTask two{"two",
                     {.identity_strategy = IdentityStrategy::caller_provided,
                      .identity_scope = IdentityScope::global,
                      .fingerprint = Fingerprint{.compare = false}}};
  const auto first = app.enqueue(one, 1, {.task_id = "k"});
  const auto same = app.enqueue(two, 2, {.task_id = "k"});
  EXPECT_EQ(same.id(), first.id());
  EXPECT_THROW(app.enqueue(one, 2, {.task_id = "k"}), IdempotencyMismatch);
  EXPECT_EQ(app.find(one, "k").id(), first.id());
}

TEST_P(IdentityTest, AnExpiredResultIsSaidToBe) {
  auto app = open();
  const JsonTask task{"windowed", {.identity_strategy = IdentityStrategy::strict, .dedup_window = 24h}};
  app.configure_queue("default", {.retention = 1ms, .failed_retention = 1ms});
  app.handle(task, [](const json& input) { return input; });
  auto worker = app.work({.threads = 1});
  const auto first = app.enqueue(task, 1);
  while (app.get(first.id())) { std::this_thread::sleep_for(1ms); }
  auto same = app.enqueue(task, 1);
  EXPECT_FALSE(same.created());
  EXPECT_EQ(same.id(), first.id());
  EXPECT_THROW((void)same.result(), ResultExpired);
}

// ---- Modes ---------------------------------------------------------------------------------------------------------

TEST_P(IdentityTest, ThrottleDebounceAndKeepLastArePerRequest) {
  auto app = open();
  EXPECT_TRUE(app.enqueue(by_input, 1, {.throttle = 1h}).created());
  EXPECT_FALSE(app.enqueue(by_input, 1, {.throttle = 1h}).created());
  const auto first = app.enqueue(by_key, 1, {.task_id = "index", .debounce = 1h});
  const auto last = app.enqueue(by_key, 2, {.task_id = "index", .debounce = 1h});
  EXPECT_EQ(last.id(), first.id());
  EXPECT_EQ(app.get(first.id())->input, "2");
  const auto kept = app.enqueue(by_key, 1, {.task_id = "sync", .keep_last = true});
  EXPECT_EQ(app.enqueue(by_key, 2, {.task_id = "sync", .keep_last = true}).id(), kept.id());
  EXPECT_THROW(app.enqueue(bare, 1, {.throttle = 1h}), InvalidArgument) << "nothing makes them the same";
  try {
    (void)app.enqueue(by_key, 3, {.task_id = "sync", .queue = "another", .keep_last = true});
    ADD_FAILURE() << "nothing would keep the two from running at once";
  } catch (const TaskAlreadyExists& error) {
    EXPECT_EQ(error.existing_execution_id, kept.id());
    EXPECT_NE(std::string(error.what()).find("ask for the same queue"), std::string::npos) << error.what();
  }
}

// ---- Limits --------------------------------------------------------------------------------------------------------

TEST_P(IdentityTest, AConcurrencyKeyNeverHasTwoAtOnceAndAllGetDone) {
  auto app = open();
  std::mutex mutex;
  std::map<std::string, int> running;
  int worst = 0;
  app.handle(bare, [&](const json& input) {
    const auto key = input.get<std::string>();
    {
      const std::lock_guard lock(mutex);
      worst = std::max(worst, ++running[key]);
    }
    std::this_thread::sleep_for(1ms);
    const std::lock_guard lock(mutex);
    --running[key];
    return input;
  });
  for (int i = 0; i < 60; ++i) {
    const std::string key = std::to_string(i % 3);
    (void)app.enqueue(bare, key, {.concurrency_key = key});
  }
  auto one = app.work({.threads = 4});
  auto two = app.work({.threads = 4});
  EXPECT_TRUE(one.wait_until_empty(60s));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(worst, 1);
  EXPECT_EQ(one.counts().completed + two.counts().completed, 60);
}

TEST_P(IdentityTest, AnOrderingKeyKeepsItsOrderOverWorkersAndRetries) {
  auto app = open();
  std::mutex mutex;
  std::map<std::string, std::vector<int>> done;
  app.handle(bare, [&](TaskContext& ctx, const json& input) {
    const int number = input.at("number");
    if (number % 7 == 3 && ctx.attempt() == 1) { throw std::runtime_error("once"); }
    const std::lock_guard lock(mutex);
    done[input.at("key")].push_back(number);
    return input;
  });
  const RetryPolicy quick{.base = 1ms, .cap = 1ms, .multiplier = 1, .jitter = Jitter::none};
  for (int i = 0; i < 60; ++i) {
    const std::string key = std::to_string(i % 3);
    (void)app.enqueue(bare, {{"key", key}, {"number", i}}, {.priority = i % 5, .retry = quick, .ordering_key = key});
  }
  auto one = app.work({.threads = 4});
  auto two = app.work({.threads = 4});
  EXPECT_TRUE(one.wait_until_empty(60s));
  const std::lock_guard lock(mutex);
  for (const auto& [key, numbers] : done) {
    EXPECT_EQ(numbers.size(), 20U);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end())) << key;
  }
}

TEST_P(IdentityTest, AQueuesConcurrencyIsOneForAllWorkers) {
  auto app = open();
  app.configure_queue("default", {.concurrency = 3});
  std::atomic<int> running = 0;
  std::atomic<int> worst = 0;
  app.handle(bare, [&](const json& input) {
    const int now = ++running;
    int seen = worst;
    while (now > seen && !worst.compare_exchange_weak(seen, now)) {}
    std::this_thread::sleep_for(2ms);
    --running;
    return input;
  });
  for (int i = 0; i < 60; ++i) { (void)app.enqueue(bare, i); }
  auto one = app.work({.threads = 4});
  auto two = app.work({.threads = 4});
  EXPECT_TRUE(one.wait_until_empty(60s));
  EXPECT_LE(worst, 3);
  EXPECT_GE(worst, 2) << "on a busy machine three may not meet";
}

TEST_P(IdentityTest, ARateLimitHoldsOverWorkersAndIsNearlyReached) {
  auto app = open();
  constexpr RateLimit rate{.count = 100, .per = 1s, .burst = 10};
  app.configure_queue("default", {.rate_limit = rate});
  std::mutex mutex;
  std::vector<std::chrono::steady_clock::time_point> starts;
  app.handle(bare, [&](const json& input) {
    const std::lock_guard lock(mutex);
    starts.push_back(std::chrono::steady_clock::now());
    return input;
  });
  for (int i = 0; i < 150; ++i) { (void)app.enqueue(bare, i); }
  auto one = app.work({.threads = 2});
  auto two = app.work({.threads = 2});
  EXPECT_TRUE(one.wait_until_empty(60s));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(starts.size(), 150U);
  // The limit counts claims. A handler starts a little later, so a second may contain a few more handler starts.
  std::size_t from = 0;
  std::size_t most = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    while (starts[i] - starts[from] >= 1s) { ++from; }
    most = std::max(most, i - from + 1);
  }
  EXPECT_LE(most, 125U);
}

TEST_P(IdentityTest, SettingsAreTold) {
  auto app = open();
  app.configure_queue("payments", {.retention = 720h,
                                   .dedup_window = 48h,
                                   .rate_limit = parse_rate_limit("100/sec burst 5"),
                                   .concurrency = 20,
                                   .worker_concurrency = 4,
                                   .key_concurrency = 2});
  const QueueStats stats = app.queues().at(0);
  EXPECT_EQ(stats.retention, 720h);
  EXPECT_EQ(stats.dedup_window, 48h);
  EXPECT_EQ(format_rate_limit(*stats.rate_limit), "100/sec burst 5");
  EXPECT_EQ(stats.concurrency, 20);
  EXPECT_EQ(stats.worker_concurrency, 4);
  EXPECT_EQ(stats.key_concurrency, 2);
  EXPECT_THROW(app.configure_queue("payments", {.concurrency = 0}), InvalidArgument);
  EXPECT_THROW(app.configure_queue("payments", {.rate_limit = RateLimit{.count = 0}}), InvalidArgument);
}

TEST_P(IdentityTest, ExplainSaysWhatHoldsAnExecutionBack) {
  auto app = open();
  std::atomic<bool> go = false;
  app.handle(bare, [&](TaskContext&, const json& input) {
    while (!go) { std::this_thread::sleep_for(1ms); }
    return input;
  });
  (void)app.enqueue(bare, 1, {.ordering_key = "account-7"});
  const auto next = app.enqueue(bare, 2, {.ordering_key = "account-7"});
  auto worker = app.work({.threads = 4, .grace = 5s});
  while (!app.get(next.id())->parked) { std::this_thread::sleep_for(1ms); }
  const Explanation why = app.explain(next.id()).at(0);
  go = true;
  EXPECT_EQ(why.code, "ordering_key");
  EXPECT_NE(why.sentence.find("account-7"), std::string::npos);
  const auto held = app.enqueue(by_input, 1);
  bool told = false;
  for (const Explanation& one : app.explain(held.id())) {
    told = told || (one.code == "holds_key" && one.sentence.find("strict") != std::string::npos);
  }
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace hapax
