// Admission without identities: a request is stored at once, complete and in order.
#include "conformance/fixture.hpp"

#include "model/identity.hpp"

#include <algorithm>
#include <thread>

namespace hapax::conformance {

namespace {

class AdmissionConformance : public Conformance {
 protected:
  std::optional<QueueInfo> queue(const std::string& name) {
    for (QueueInfo& info : store().queues("default")) {
      if (info.queue.name == name) { return std::move(info); }
    }
    return std::nullopt;
  }

  // A request with every field set to something other than its default.
  NewExecution full_request() {
    NewExecution item = request("charge \"card\"", "päyments");
    item.queue.namespace_name = "shop";
    item.kind = Kind::workflow;
    item.input = R"({"order":456,"note":"a'b\"c\\dé\u0000"})";
    item.priority = -7;
    item.max_attempts = 9;
    item.max_lost = 2;
    item.retry = RetryPolicy{.base = 1s, .cap = 90s, .multiplier = 1.5, .jitter = Jitter::equal};
    item.attempt_timeout = 1234567us;
    item.deadline = 26h;
    item.identity = IdentityClaim{.hash = base::sha256("identity"), .key = "payment-123"};
    item.effect_key = "hx_00000000000000000000000000000001";
    item.parent = base::new_uuid7();
    item.labels = {.tags = {"red", "grün"},
                   .metadata = R"({"by":"test"})",
                   .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
    return item;
  }

  // The stored execution has every field of the request.
  void expect_read_back(const NewExecution& item, const Admission& admission) {
    ASSERT_TRUE(admission.created());
    const Execution execution = get(item.id);

    EXPECT_EQ(execution.queue, item.queue);
    EXPECT_EQ(execution.task, item.task);
    EXPECT_EQ(execution.kind, item.kind);
    EXPECT_EQ(execution.input, item.input);
    EXPECT_EQ(execution.priority, item.priority);
    EXPECT_EQ(execution.run_at, admission.created_at + item.delay);
    EXPECT_EQ(execution.max_attempts, item.max_attempts);
    EXPECT_EQ(execution.max_lost, item.max_lost);
    EXPECT_EQ(execution.retry, item.retry);
    EXPECT_EQ(execution.attempt_timeout, item.attempt_timeout);
    EXPECT_EQ(execution.deadline, admission.created_at + *item.deadline);
    EXPECT_EQ(execution.identity, item.identity->hash);
    EXPECT_EQ(execution.identity_key, item.identity->key);
    if (item.effect_key) { EXPECT_EQ(execution.effect_key, item.effect_key); }
    EXPECT_EQ(execution.parent, item.parent);
    EXPECT_EQ(execution.labels, item.labels);
  }
};

TEST_F(AdmissionConformance, APlainRequestBecomesAPendingExecution) {
  const NewExecution item = request();

  const Admission admission = admit(item);

  EXPECT_EQ(admission.verdict, AdmissionVerdict::created);
  EXPECT_EQ(admission.id, item.id);
  EXPECT_EQ(admission.status, Status::pending);
  EXPECT_EQ(admission.run, 1);
  EXPECT_FALSE(admission.deduplicated_from);
  EXPECT_FALSE(admission.finished_at);
  EXPECT_FALSE(admission.result);
  EXPECT_FALSE(admission.fence);
  const Execution execution = get(item.id);
  EXPECT_EQ(execution.status, Status::pending);
  EXPECT_EQ(execution.attempt, 0);
  EXPECT_EQ(execution.fence, 0);
  EXPECT_EQ(execution.lost, 0);
  EXPECT_FALSE(execution.started_at);
  EXPECT_FALSE(execution.finished_at);
  EXPECT_FALSE(execution.expires_at);
  EXPECT_FALSE(execution.session);
  EXPECT_FALSE(execution.cancel_requested);
  EXPECT_FALSE(execution.dead);
  EXPECT_TRUE(store().attempts(item.id).empty());
}

TEST_F(AdmissionConformance, EveryFieldOfARequestIsReadBack) {
  const NewExecution item = full_request();

  expect_read_back(item, admit(item));
}

TEST_F(AdmissionConformance, EveryFieldOfABulkWithIdentitiesIsReadBack) {
  std::vector<NewExecution> items;
  for (int i = 0; i < 700; ++i) {
    // Groups of 100 requests of one kind, one after the other.
    NewExecution& item = items.emplace_back(i / 100 % 2 == 0 ? full_request() : request("plain"));
    item.id = base::new_uuid7();
    item.identity = IdentityClaim{.hash = base::sha256(std::to_string(i)), .key = std::to_string(i)};
    item.input = std::to_string(i);
    item.labels.tags.push_back("tag" + std::to_string(i));
    item.deadline = 1h;
    if (i % 100 == 50) { item.delay = 1s; }
    if (i % 100 == 60) { item.limit_key = LimitKey{.text = "shared"}; }
  }

  const std::vector<Admission> admissions = store().admit(items);

  ASSERT_EQ(admissions.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) { expect_read_back(items[i], admissions[i]); }
}

TEST_F(AdmissionConformance, EveryFieldOfARequestReachesItsClaim) {
  const NewExecution item = full_request();
  const Admission admission = admit(item);
  TestWorker me = worker();
  me.queues = {item.queue};
  me.tasks = {item.task};

  const Claim claim = claim_one(me);

  EXPECT_EQ(claim.id, item.id);
  EXPECT_EQ(claim.queue, item.queue);
  EXPECT_EQ(claim.task, item.task);
  EXPECT_EQ(claim.kind, item.kind);
  EXPECT_EQ(claim.input, item.input);
  EXPECT_EQ(claim.priority, item.priority);
  EXPECT_EQ(claim.run, 1);
  EXPECT_EQ(claim.max_attempts, item.max_attempts);
  EXPECT_EQ(claim.lost, 0);
  EXPECT_EQ(claim.max_lost, item.max_lost);
  EXPECT_EQ(claim.created_at, admission.created_at);
  EXPECT_EQ(claim.deadline, admission.created_at + *item.deadline);
  ASSERT_TRUE(claim.deadline_in);
  EXPECT_EQ(*claim.deadline_in, *claim.deadline - claim.claimed_at);
  EXPECT_EQ(claim.retry, item.retry);
  EXPECT_EQ(claim.attempt_timeout, item.attempt_timeout);
  EXPECT_EQ(claim.identity, item.identity->hash);
  EXPECT_EQ(claim.effect_key, item.effect_key);
  EXPECT_EQ(claim.parent, item.parent);
  EXPECT_EQ(claim.labels, item.labels);
}

TEST_F(AdmissionConformance, WhatARequestLeavesOutIsAbsent) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();

  const Claim claim = claim_one(me);

  const Execution execution = get(id);
  EXPECT_FALSE(execution.retry);
  EXPECT_FALSE(execution.attempt_timeout);
  EXPECT_FALSE(execution.deadline);
  EXPECT_FALSE(execution.identity);
  EXPECT_EQ(execution.identity_key, "");
  EXPECT_FALSE(execution.parent);
  EXPECT_EQ(execution.labels, Labels{});
  EXPECT_FALSE(claim.retry);
  EXPECT_FALSE(claim.attempt_timeout);
  EXPECT_FALSE(claim.deadline);
  EXPECT_FALSE(claim.deadline_in);
  EXPECT_FALSE(claim.identity);
  EXPECT_FALSE(claim.parent);
  EXPECT_EQ(claim.labels, Labels{});
}

TEST_F(AdmissionConformance, TheEffectKeyIsTheExecutionsOwnWithoutAnIdentityAndSharedWithOne) {
  const Execution plain = get(admit_id(request()));
  const Execution other = get(admit_id(request()));
  const Execution first = get(admit_id(keyed("a")));
  bring_to(first.id, Status::failed);
  const Execution next = get(admit_id(keyed("a")));

  EXPECT_TRUE(plain.effect_key.starts_with("hx_")) << plain.effect_key;
  EXPECT_NE(plain.effect_key, other.effect_key);
  EXPECT_EQ(first.effect_key, next.effect_key);
}

TEST_F(AdmissionConformance, AnExecutionIsCreatedAtTheStoresInstant) {
  advance(100h);
  const Time before = store().now();
  const NewExecution item = request();

  const Admission admission = admit(item);

  EXPECT_GE(admission.created_at, before);
  EXPECT_LE(admission.created_at, store().now());
  EXPECT_EQ(get(item.id).created_at, admission.created_at);
}

TEST_F(AdmissionConformance, AQueueIsMadeOnFirstUse) {
  EXPECT_FALSE(queue("fresh"));

  (void)admit_id(request("work", "fresh"));

  const std::optional<QueueInfo> made = queue("fresh");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->ready, 1);
  EXPECT_FALSE(made->settings.paused);
  EXPECT_FALSE(made->settings.draining);
  EXPECT_FALSE(made->settings.retention);
  EXPECT_FALSE(made->settings.failed_retention);
}

TEST_F(AdmissionConformance, QueuesOfTheSameNameInTwoNamespacesAreTwoQueues) {
  (void)admit_id(request());
  NewExecution elsewhere = request();
  elsewhere.queue.namespace_name = "elsewhere";
  (void)admit_id(elsewhere);
  TestWorker me = worker();

  EXPECT_NE(claim_one(me).id, elsewhere.id);
  EXPECT_EQ(status(elsewhere.id), Status::pending);
}

TEST_F(AdmissionConformance, AnEmptyBatchIsAnEmptyAnswer) { EXPECT_TRUE(store().admit({}).empty()); }

TEST_F(AdmissionConformance, FiveThousandAreAdmittedInOneCallAndAnsweredInOrder) {
  std::vector<NewExecution> items;
  for (int i = 0; i < 5000; ++i) {
    items.push_back(request("work", i % 2 == 0 ? "even" : "odd"));
    items.back().input = std::to_string(i);
  }
  std::reverse(items.begin(), items.end());  // ids need not rise within a batch

  const std::vector<Admission> admissions = store().admit(items);

  ASSERT_EQ(admissions.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSERT_TRUE(admissions[i].created());
    ASSERT_EQ(admissions[i].id, items[i].id);
  }
  EXPECT_EQ(queue("even")->ready, 2500);
  EXPECT_EQ(queue("odd")->ready, 2500);
  EXPECT_EQ(get(items[1234].id).input, items[1234].input);
}

TEST_F(AdmissionConformance, ABulkWithAndWithoutIdentitiesIsAnsweredInOrder) {
  std::vector<NewExecution> items;
  for (int i = 0; i < 1000; ++i) { items.push_back(i % 2 == 0 ? request() : keyed("k" + std::to_string(i % 100))); }

  const std::vector<Admission> admissions = store().admit(items);

  ASSERT_EQ(admissions.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool is_first = i % 2 == 0 || i < 100;
    ASSERT_EQ(admissions[i].created(), is_first) << i;
    ASSERT_EQ(admissions[i].id, items[is_first ? i : i % 100].id) << i;
  }
  EXPECT_EQ(queue("default")->ready, 550);
}

// Large enough for every store's bulk statements.
std::vector<NewExecution> many_keyed(const std::string& word, int count = 700) {
  std::vector<NewExecution> items;
  for (int i = 0; i < count; ++i) {
    NewExecution& item = items.emplace_back();
    item.id = base::new_uuid7();
    item.task = i % 2 == 0 ? "even" : "odd";
    item.queue.name = item.task;
    item.input = std::to_string(i);
    item.parent = item.id;
    item.identity.emplace();
    item.identity->key = word + std::to_string(i);
    item.identity->hash =
        identity_hash({.namespace_name = "default", .scope = Scope::task, .name = "x", .key = item.identity->key});
    item.identity->fingerprint = input_fingerprint(item.input);
    item.identity->reuse = Reuse::reject;
  }
  return items;
}

TEST_F(AdmissionConformance, ABulkOfNewIdentitiesHoldsEachOfThem) {
  store().configure_queue({"default", "odd"}, {.retention = 0s, .dedup_window = 1h});
  store().configure_queue({"default", "even"}, {.retention = 0s});
  std::vector<NewExecution> items = many_keyed("k");
  items[6].identity->dedup_window = 2h;
  items[8].delay = 5min;

  const std::vector<Admission> admissions = store().admit(items);

  ASSERT_EQ(admissions.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSERT_TRUE(admissions[i].created());
    ASSERT_EQ(admissions[i].id, items[i].id);
    ASSERT_EQ(admissions[i].status, Status::pending);
    ASSERT_EQ(store().holder(items[i].identity->hash), items[i].id);
  }
  EXPECT_EQ(queue("even")->ready, 349);
  const Execution one = get(items[5].id);
  EXPECT_EQ(one.input, "5");
  EXPECT_EQ(one.identity_key, "k5");
  EXPECT_EQ(one.parent, items[5].id);
  EXPECT_EQ(one.task, "odd");
  EXPECT_EQ(one.run, 1);
  EXPECT_EQ(one.created_at, admissions[5].created_at);
  EXPECT_EQ(get(items[8].id).run_at, one.created_at + 5min);
  NewExecution other_input = items[5];
  other_input.id = base::new_uuid7();
  other_input.identity->fingerprint = input_fingerprint("6");
  EXPECT_EQ(admit(other_input).verdict, AdmissionVerdict::mismatch);
  // The request's dedup window decides how long an ended execution holds its identity; without one, the queue's does.
  for (const std::size_t i : {3U, 4U, 6U}) { bring_to(items[i].id, Status::completed); }
  advance(30min);
  while (sweep(true).expired > 0) {}
  EXPECT_TRUE(store().holder(items[3].identity->hash)) << "the queue's hour";
  EXPECT_FALSE(store().holder(items[4].identity->hash)) << "no window";
  EXPECT_TRUE(store().holder(items[6].identity->hash)) << "its own two hours";
}

TEST_F(AdmissionConformance, ABulkOfIdentitiesWithSomeThatAreHeldAdmitsTheOthers) {
  const std::vector<NewExecution> before = many_keyed("k", 3);
  (void)store().admit(before);
  std::vector<NewExecution> items = many_keyed("k");
  items.push_back(items[500]);
  items.back().id = base::new_uuid7();

  const std::vector<Admission> admissions = store().admit(items);

  ASSERT_EQ(admissions.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool held = i < 3 || i == 700;
    ASSERT_EQ(admissions[i].verdict, held ? AdmissionVerdict::deduplicated : AdmissionVerdict::created) << i;
    ASSERT_EQ(admissions[i].id, i < 3 ? before[i].id : items[i == 700 ? 500 : i].id) << i;
  }
  for (const Admission& again : store().admit(many_keyed("k"))) {
    ASSERT_EQ(again.verdict, AdmissionVerdict::deduplicated);
  }
  EXPECT_EQ(queue("even")->ready + queue("odd")->ready, 700);
  // The same batch again, as after a lost answer: each item is answered with its own execution.
  for (const Admission& again : store().admit(items)) { ASSERT_NE(again.id, Uuid{}); }
  EXPECT_EQ(queue("even")->ready + queue("odd")->ready, 700);
  EXPECT_EQ(store().holder(items[300].identity->hash), items[300].id);
}

TEST_F(AdmissionConformance, ABulkOfIdentitiesHoldsNoneForAnIdThatIsLive) {
  std::vector<NewExecution> items = many_keyed("k");
  const Uuid live = admit_id(request());
  items[400].id = live;

  const std::vector<Admission> admissions = store().admit(items);

  ASSERT_EQ(admissions.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSERT_EQ(admissions[i].id, items[i].id) << i;
    ASSERT_EQ(store().holder(items[i].identity->hash).has_value(), i != 400) << i;
  }
  EXPECT_EQ(get(live).task, "work");
}

TEST_F(AdmissionConformance, ABulkOfIdentitiesIsRefusedWhereAQueueDrains) {
  const std::vector<NewExecution> before = many_keyed("k", 1);
  (void)store().admit(before);
  store().configure_queue({"default", "even"}, {.draining = true});
  const std::vector<NewExecution> items = many_keyed("k");

  const std::vector<Admission> admissions = store().admit(items);

  ASSERT_EQ(admissions.size(), items.size());
  EXPECT_EQ(admissions[0].verdict, AdmissionVerdict::deduplicated) << "a holder answers all the same";
  for (std::size_t i = 1; i < items.size(); ++i) {
    ASSERT_EQ(admissions[i].verdict, i % 2 == 0 ? AdmissionVerdict::queue_draining : AdmissionVerdict::created) << i;
    ASSERT_EQ(store().holder(items[i].identity->hash).has_value(), i % 2 != 0);
  }
}

TEST_F(AdmissionConformance, NobodyEverSeesHalfABatch) {
  constexpr int batch = 200;
  constexpr int batches = 5;
  const std::shared_ptr<Store> other = second();
  std::atomic<bool> is_over = false;
  std::thread producer([&] {
    for (int i = 0; i < batches; ++i) {
      std::vector<NewExecution> items;
      for (int j = 0; j < batch; ++j) {
        items.push_back(j % 2 == 0 ? request() : keyed(std::to_string(i * batch + j)));
      }
      (void)other->admit(items);
    }
    is_over = true;
  });

  std::int64_t seen = 0;
  while (!is_over) {
    const std::optional<QueueInfo> now = queue("default");
    seen = now ? now->ready : 0;
    if (seen % batch != 0) { break; }
  }

  producer.join();
  EXPECT_EQ(seen % batch, 0) << seen;
  EXPECT_EQ(queue("default")->ready, batch * batches);
}

}  // namespace

}  // namespace hapax::conformance
