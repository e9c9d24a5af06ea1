// Listing: filters, isolation of namespaces, and pages from the newest execution down.
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class ListConformance : public Conformance {
 protected:
  std::vector<Uuid> ids(const ListQuery& query) {
    std::vector<Uuid> found;
    for (const Execution& execution : store().list(query)) { found.push_back(execution.id); }
    return found;
  }
};

TEST_F(ListConformance, NewestFirstLiveAndFinishedTogether) {
  std::vector<Uuid> expected;
  for (int i = 0; i < 6; ++i) { expected.insert(expected.begin(), admit_id(request())); }
  bring_to(expected[1], Status::completed);
  bring_to(expected[4], Status::running);
  EXPECT_EQ(ids({}), expected);
}

TEST_F(ListConformance, PagesContinueBelowTheLastId) {
  std::vector<Uuid> expected;
  for (int i = 0; i < 7; ++i) { expected.insert(expected.begin(), admit_id(request())); }
  for (const std::size_t finished : {0U, 2U, 3U, 6U}) { bring_to(expected[finished], Status::cancelled); }
  std::vector<Uuid> seen;
  ListQuery query{.limit = 3};
  for (std::vector<Uuid> page = ids(query); !page.empty(); page = ids(query)) {
    EXPECT_LE(page.size(), 3U);
    seen.insert(seen.end(), page.begin(), page.end());
    query.after = page.back();
    ASSERT_LE(seen.size(), expected.size());
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(ListConformance, APageMayBeginBelowAnIdThatIsGone) {
  const Uuid lower = admit_id(request());
  const Uuid nobody = base::new_uuid7();
  admit_id(request());
  EXPECT_EQ(ids({.after = nobody}), std::vector<Uuid>{lower});
}

TEST_F(ListConformance, MetadataIsFoundByItsTopLevelMembers) {
  const auto with = [&](const std::string& metadata) {
    NewExecution item = request();
    item.labels.metadata = metadata;
    return admit_id(item);
  };
  const Uuid first = with(
      R"({"customer":"ada \u00e9 \"x\"","n":42,"ok":true,"none":null,"deep":{"a":1},"list":[1],"a.b":"dot","q\"x":2})");
  const Uuid second = with(R"({"customer":"bob","n":1.50,"big":-7e2,"zero":"a\u0000b"})");
  const Uuid ended = with(R"({"customer":"bob","n":"42"})");
  bring_to(ended, Status::completed);
  NewExecution tagged = request();
  tagged.labels.tags = {"bob"};
  (void)admit_id(tagged);
  (void)admit_id(request());
  const auto found = [&](const std::string& key, const std::string& value) {
    return ids({.metadata = {{.key = key, .value = value}}});
  };
  EXPECT_EQ(found("customer", "ada \u00e9 \"x\""), std::vector<Uuid>{first});
  EXPECT_EQ(found("customer", "bob"), (std::vector<Uuid>{ended, second}));
  EXPECT_EQ(found("n", "42"), (std::vector<Uuid>{ended, first})) << "a number and a string say the same";
  EXPECT_EQ(found("n", "1.50"), std::vector<Uuid>{second});
  EXPECT_TRUE(found("n", "1.5").empty()) << "as it was written";
  EXPECT_EQ(found("big", "-7e2"), std::vector<Uuid>{second});
  EXPECT_EQ(found("ok", "true"), std::vector<Uuid>{first});
  EXPECT_TRUE(found("ok", "1").empty());
  EXPECT_EQ(found("none", "null"), std::vector<Uuid>{first});
  EXPECT_EQ(found("a.b", "dot"), std::vector<Uuid>{first});
  EXPECT_EQ(found("q\"x", "2"), std::vector<Uuid>{first});
  for (const char* const value : {"object", "array", R"({"a":1})", "[1]", "", "null"}) {
    EXPECT_TRUE(found("deep", value).empty()) << value;
    EXPECT_TRUE(found("list", value).empty()) << value;
  }
  EXPECT_TRUE(found("a", "1").empty()) << "top level only";
  EXPECT_TRUE(found("unknown", "null").empty());
  EXPECT_TRUE(found("tags", "bob").empty());
  EXPECT_TRUE(found("customer", "%").empty());
  EXPECT_EQ(ids({.metadata = {{.key = "customer", .value = "bob"}, {.key = "n", .value = "42"}}}),
            std::vector<Uuid>{ended})
      << "all of them";
  EXPECT_EQ(ids({.statuses = {Status::pending}, .metadata = {{.key = "customer", .value = "bob"}}}),
            std::vector<Uuid>{second});
}

TEST_F(ListConformance, FilteredPagesAreFullWhileThereIsMore) {
  std::vector<Uuid> expected;
  for (int i = 0; i < 30; ++i) {
    const Uuid id = admit_id(request(i % 10 == 0 ? "rare" : "common"));
    if (i % 10 == 0) { expected.insert(expected.begin(), id); }
  }
  EXPECT_EQ(ids({.task = "rare", .limit = 2}), std::vector<Uuid>(expected.begin(), expected.begin() + 2));
  EXPECT_EQ(ids({.task = "rare", .after = expected[1], .limit = 2}), std::vector<Uuid>{expected[2]});
}

TEST_F(ListConformance, EveryStatusIsFound) {
  const std::vector<Status> all = {Status::pending, Status::running,   Status::completed,
                                   Status::failed,  Status::cancelled, Status::timed_out};
  std::vector<Uuid> made;
  for (const Status status : all) {
    made.push_back(admit_id(request("work", std::string(to_string(status)))));
    bring_to(made.back(), status);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(ids({.statuses = {all[i]}}), std::vector<Uuid>{made[i]}) << to_string(all[i]);
  }
  EXPECT_EQ(ids({.statuses = {Status::pending, Status::failed}}), (std::vector<Uuid>{made[3], made[0]}));
}

TEST_F(ListConformance, DelayedOnesArePending) {
  NewExecution item = request();
  item.delay = 1h;
  const Uuid id = admit_id(item);
  EXPECT_EQ(ids({.statuses = {Status::pending}}), std::vector<Uuid>{id});
  EXPECT_TRUE(ids({.statuses = {Status::running}}).empty());
}

TEST_F(ListConformance, ByQueueAndByTask) {
  const Uuid a = admit_id(request("pay", "letters"));
  const Uuid b = admit_id(request("print", "letters"));
  const Uuid c = admit_id(request("pay", "parcels"));
  bring_to(c, Status::completed);
  EXPECT_EQ(ids({.queue = "letters"}), (std::vector<Uuid>{b, a}));
  EXPECT_EQ(ids({.task = "pay"}), (std::vector<Uuid>{c, a}));
  EXPECT_EQ(ids({.queue = "letters", .task = "pay"}), std::vector<Uuid>{a});
  EXPECT_TRUE(ids({.queue = "nowhere"}).empty());
  EXPECT_TRUE(ids({.queue = "%"}).empty()) << "names are compared, not matched";
}

TEST_F(ListConformance, ByTagInFull) {
  NewExecution first = request();
  first.labels.tags = {"red", "large"};
  admit_id(first);
  NewExecution second = request();
  second.labels.tags = {"reddish"};
  admit_id(second);
  NewExecution third = request();
  third.labels.metadata = R"({"colour":"red"})";
  admit_id(third);
  bring_to(first.id, Status::completed);
  EXPECT_EQ(ids({.tag = "red"}), std::vector<Uuid>{first.id});
  EXPECT_EQ(ids({.tag = "large"}), std::vector<Uuid>{first.id});
  EXPECT_TRUE(ids({.tag = "r"}).empty());
}

TEST_F(ListConformance, AllRunsUnderAnIdentity) {
  const NewExecution first = keyed("order-1");
  admit_id(first);
  bring_to(first.id, Status::failed);
  const NewExecution second = keyed("order-1");
  EXPECT_EQ(admit(second).run, 2);
  bring_to(second.id, Status::failed);
  const NewExecution third = keyed("order-1");
  EXPECT_EQ(admit(third).run, 3);
  admit_id(keyed("order-2"));
  EXPECT_EQ(ids({.identity = first.identity->hash}), (std::vector<Uuid>{third.id, second.id, first.id}));
}

TEST_F(ListConformance, ByTimeOfCreationFromInclusiveToExclusive) {
  const Uuid a = admit_id(request());
  advance(1h);
  const Uuid b = admit_id(request());
  advance(1h);
  const Uuid c = admit_id(request());
  const Time middle = get(b).created_at;
  EXPECT_EQ(ids({.created_from = middle}), (std::vector<Uuid>{c, b}));
  EXPECT_EQ(ids({.created_before = middle}), std::vector<Uuid>{a});
  EXPECT_EQ(ids({.created_from = middle, .created_before = get(c).created_at}), std::vector<Uuid>{b});
}

TEST_F(ListConformance, OnlyDeadLetters) {
  const Uuid dead = admit_id(request());
  bring_to(dead, Status::failed);
  const Uuid elsewhere = admit_id(request("work", "other"));
  bring_to(elsewhere, Status::failed);
  const Uuid discarded = admit_id(request());
  bring_to(discarded, Status::failed);
  EXPECT_EQ(store().discard({&discarded, 1}), 1);
  bring_to(admit_id(request()), Status::cancelled);
  bring_to(admit_id(request()), Status::timed_out);
  admit_id(request());
  EXPECT_EQ(ids({.dead_only = true}), (std::vector<Uuid>{elsewhere, dead}));
  EXPECT_EQ(ids({.queue = "other", .dead_only = true}), std::vector<Uuid>{elsewhere});
  EXPECT_EQ(ids({.dead_only = true, .after = elsewhere}), std::vector<Uuid>{dead});
}

TEST_F(ListConformance, NamespacesDoNotSeeEachOther) {
  NewExecution theirs = request();
  theirs.queue.namespace_name = "tenant";
  theirs.labels.tags = {"red"};
  admit_id(theirs);
  const Uuid ours = admit_id(request());
  EXPECT_EQ(ids({}), std::vector<Uuid>{ours});
  EXPECT_EQ(ids({.namespace_name = "tenant"}), std::vector<Uuid>{theirs.id});
  EXPECT_TRUE(ids({.tag = "red"}).empty());
  EXPECT_TRUE(ids({.namespace_name = "nobody"}).empty());
}

TEST_F(ListConformance, PayloadsAreLeftOutWhenNotAskedFor) {
  NewExecution item = request();
  item.input = R"({"big":"input"})";
  admit_id(item);
  TestWorker one = worker();
  EXPECT_EQ(finish(completed(claim_one(one), R"({"big":"result"})")), FinishVerdict::accepted);
  const std::vector<Execution> with = store().list({});
  ASSERT_EQ(with.size(), 1U);
  EXPECT_EQ(with[0].input, item.input);
  EXPECT_EQ(with[0].result, R"({"big":"result"})");
  const std::vector<Execution> without = store().list({.payloads = false});
  ASSERT_EQ(without.size(), 1U);
  EXPECT_EQ(without[0].input, "");
  EXPECT_EQ(without[0].result, std::nullopt);
  EXPECT_EQ(without[0].task, item.task);
}

TEST_F(ListConformance, AListedExecutionIsTheOneThatGetGives) {
  NewExecution item = keyed("order-1", R"([1,2])");
  item.priority = -7;
  item.max_attempts = 9;
  item.max_lost = 2;
  item.deadline = 5h;
  item.attempt_timeout = 3min;
  item.retry = RetryPolicy{.base = 2s, .cap = 1min, .multiplier = 3, .jitter = Jitter::none};
  item.parent = base::new_uuid7();
  item.labels = {.tags = {"a", "b"}, .metadata = R"({"k":1})", .traceparent = "00-1-2-03"};
  admit_id(item);
  for (const Status status : {Status::pending, Status::running, Status::failed}) {
    bring_to(item.id, status);
    const Execution one = get(item.id);
    const std::vector<Execution> page = store().list({});
    ASSERT_EQ(page.size(), 1U);
    const Execution& listed = page.front();
    EXPECT_EQ(listed.status, status);
    EXPECT_EQ(listed.queue, one.queue);
    EXPECT_EQ(listed.priority, -7);
    EXPECT_EQ(listed.max_attempts, 9);
    EXPECT_EQ(listed.max_lost, 2);
    EXPECT_EQ(listed.attempt, one.attempt);
    EXPECT_EQ(listed.fence, one.fence);
    EXPECT_EQ(listed.created_at, one.created_at);
    EXPECT_EQ(listed.run_at, one.run_at);
    EXPECT_EQ(listed.started_at, one.started_at);
    EXPECT_EQ(listed.finished_at, one.finished_at);
    EXPECT_EQ(listed.expires_at, one.expires_at);
    EXPECT_EQ(listed.deadline, one.created_at + 5h);
    EXPECT_EQ(listed.attempt_timeout, 3min);
    EXPECT_EQ(listed.retry, item.retry);
    EXPECT_EQ(listed.identity, item.identity->hash);
    EXPECT_EQ(listed.identity_key, "order-1");
    EXPECT_EQ(listed.effect_key, one.effect_key);
    EXPECT_EQ(listed.parent, item.parent);
    EXPECT_EQ(listed.session, one.session);
    EXPECT_EQ(listed.worker, one.worker);
    EXPECT_EQ(listed.dead, status == Status::failed);
    EXPECT_EQ(listed.labels, item.labels);
  }
}

TEST_F(ListConformance, AnEmptyPageForNoLimit) {
  admit_id(request());
  EXPECT_TRUE(ids({.limit = 0}).empty());
}

}  // namespace

}  // namespace hapax::conformance
