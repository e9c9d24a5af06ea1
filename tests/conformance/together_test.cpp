// Many items in one call: stores write ordinary items with one statement, so an unusual item among them must neither be
// handled as an ordinary one nor spoil the others.
#include "conformance/workflow_fixture.hpp"

#include <algorithm>
#include <set>

namespace hapax::conformance {

namespace {

// Two full groups of items that are written together, and a few more.
constexpr int together_many = 43;
constexpr std::size_t odd = 20;  // index of the unusual item

class TogetherConformance : public WorkflowConformance {
 protected:
  std::vector<Claim> claimed(const NewExecution& like = request(), int count = together_many) {
    std::vector<NewExecution> items;
    for (int i = 0; i < count; ++i) {
      items.push_back(like);
      items.back().id = base::new_uuid7();
    }
    (void)store().admit(items);
    std::vector<Claim> claims = claim(worker_, count);
    EXPECT_EQ(std::ssize(claims), count);
    return claims;
  }
  std::vector<Claim> begun_flows() { return claimed(flow()); }

  static std::vector<Finish> completions(const std::vector<Claim>& claims) {
    std::vector<Finish> finishes;
    for (const Claim& claim : claims) {
      finishes.push_back(completed(claim, std::to_string(finishes.size())));
      finishes.back().ran_for = 1s;
    }
    return finishes;
  }
  static std::vector<Finish> endings_with_entries(const std::vector<Claim>& claims) {
    std::vector<Finish> finishes;
    for (const Claim& claim : claims) {
      finishes.push_back(turn_finish(claim, FinishKind::completed, {.entries = {entry(0), entry(1)}}));
    }
    return finishes;
  }
  static std::vector<Advance> turns(const std::vector<Claim>& claims) {
    std::vector<Advance> all;
    for (const Claim& claim : claims) {
      all.push_back({.execution = claim.id, .fence = claim.fence, .entries = {entry(0), entry(1, R"("second")")}});
    }
    return all;
  }

  // All verdicts but the odd item's are `accepted`.
  static void expect_all_but_odd(const std::vector<FinishVerdict>& verdicts) {
    ASSERT_EQ(std::ssize(verdicts), together_many);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      EXPECT_EQ(verdicts[i], i == odd ? FinishVerdict::stale : FinishVerdict::accepted) << i;
    }
  }
  void expect_completed(const std::vector<Claim>& claims, std::optional<std::size_t> but = {}) {
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (i == but) { continue; }
      EXPECT_EQ(status(claims[i].id), Status::completed) << i;
    }
  }
};

TEST_F(TogetherConformance, EachOutcomeIsItsOwn) {
  NewExecution like = request("work");
  like.priority = 3;
  like.deadline = 1h;
  like.labels.tags = {"blue"};
  like.input = R"({"n":1})";
  const std::vector<Claim> claims = claimed(like);
  const std::vector<FinishVerdict> verdicts = store().finish(completions(claims));
  ASSERT_EQ(verdicts, std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Execution ended = get(claims[i].id);
    EXPECT_EQ(ended.status, Status::completed);
    EXPECT_EQ(ended.result, std::to_string(i));
    EXPECT_EQ(ended.priority, 3);
    EXPECT_EQ(ended.labels.tags, std::vector<std::string>{"blue"});
    EXPECT_EQ(ended.input, R"({"n":1})");
    EXPECT_EQ(ended.attempt, 1);
    EXPECT_EQ(ended.fence, 1);
    ASSERT_TRUE(ended.started_at && ended.finished_at);
    EXPECT_EQ(*ended.finished_at - *ended.started_at, 1s);
  }
  EXPECT_TRUE(claim(worker_).empty());
}

TEST_F(TogetherConformance, TheSameAsOneByOne) {
  const std::vector<Claim> claims = claimed();
  const std::vector<Finish> finishes = completions(claims);
  ASSERT_EQ(store().finish(finishes), std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  const Uuid alone_id = admit_id(request());
  const Claim alone = claim_one(worker_);
  Finish end = completed(alone, "0");
  end.ran_for = 1s;
  ASSERT_EQ(finish(end), FinishVerdict::accepted);
  Execution one = get(claims[0].id);
  const Execution other = get(alone_id);
  EXPECT_EQ(one.worker, other.worker);
  EXPECT_EQ(one.session, other.session);
  EXPECT_EQ(one.max_attempts, other.max_attempts);
  EXPECT_EQ(one.run, other.run);
  ASSERT_TRUE(one.expires_at && other.expires_at && one.finished_at && other.finished_at);
  EXPECT_EQ(*one.expires_at - *one.finished_at, *other.expires_at - *other.finished_at);
}

TEST_F(TogetherConformance, RepeatedOutcomesAreAcceptedAndChangeNothing) {
  const std::vector<Claim> claims = claimed();
  const std::vector<Finish> finishes = completions(claims);
  ASSERT_EQ(store().finish(finishes), std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  const std::string before = picture(claims[odd].id);
  EXPECT_EQ(store().finish(finishes), std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  EXPECT_EQ(picture(claims[odd].id), before);
}

TEST_F(TogetherConformance, AStaleOutcomeIsRefusedAloneAndChangesNothing) {
  const std::vector<Claim> claims = claimed();
  std::vector<Finish> finishes = completions(claims);
  finishes[odd].fence = 7;
  expect_all_but_odd(store().finish(finishes));
  EXPECT_EQ(status(claims[odd].id), Status::running);
  expect_completed(claims, odd);
}

TEST_F(TogetherConformance, TwoOutcomesOfOneExecutionAreOne) {
  const std::vector<Claim> claims = claimed(request(), together_many - 1);
  std::vector<Finish> finishes = completions(claims);
  finishes.push_back(finishes[odd]);
  EXPECT_EQ(store().finish(finishes), std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  expect_completed(claims);
  EXPECT_EQ(get(claims[odd].id).result, std::to_string(odd));
}

TEST_F(TogetherConformance, OneThatFailsAmongThemFails) {
  const std::vector<Claim> claims = claimed();
  std::vector<Finish> finishes = completions(claims);
  finishes[odd] = failed(claims[odd]);
  EXPECT_EQ(store().finish(finishes), std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  EXPECT_EQ(status(claims[odd].id), Status::failed);
  expect_completed(claims, odd);
}

TEST_F(TogetherConformance, OneOfAnotherQueueIsKeptAsThatSays) {
  store().configure_queue({.namespace_name = "default", .name = "flows"}, {.retention = Duration{0}});
  std::vector<Claim> claims = claimed();
  (void)admit_id(request("order", "flows"));
  claims[odd] = claim_one(worker_);
  EXPECT_EQ(store().finish(completions(claims)), std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  const Execution stub = get(claims[odd].id);
  EXPECT_EQ(stub.result, std::to_string(odd));
  ASSERT_TRUE(stub.expires_at && stub.finished_at);
  EXPECT_EQ(*stub.expires_at - *stub.finished_at, 10min);
  const Execution kept = get(claims[0].id);
  EXPECT_GT(*kept.expires_at - *kept.finished_at, 24h);
}

TEST_F(TogetherConformance, NothingIsKeptInAQueueThatKeepsNothing) {
  store().configure_queue({.namespace_name = "default", .name = "default"}, {.retention = Duration{0}});
  NewExecution like = request();
  like.input = R"("secret")";
  const std::vector<Claim> claims = claimed(like);
  EXPECT_EQ(store().finish(completions(claims)), std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  for (const Claim& claim : claims) { EXPECT_EQ(get(claim.id).input, "null"); }
}

TEST_F(TogetherConformance, TwoWorkersOutcomesAreToldApart) {
  std::vector<Claim> claims = claimed();
  (void)admit_id(request());
  TestWorker other{.session = base::new_uuid7(), .queues = worker_.queues};
  store().open_session({.id = other.session, .worker = "other", .lease = 30s, .queues = other.queues});
  claims[odd] = claim_one(other);
  EXPECT_EQ(store().finish(completions(claims)), std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  EXPECT_EQ(get(claims[odd].id).session, other.session);
  EXPECT_EQ(get(claims[0].id).session, worker_.session);
  EXPECT_EQ(get(claims[odd].id).worker, "other");
  EXPECT_NE(get(claims[0].id).worker, "other");
}

TEST_F(TogetherConformance, OneThatLivedBeforeUnderTheSameIdEndsLikeTheOthers) {
  const Claim before = begun();
  ASSERT_EQ(finish(turn_finish(before, FinishKind::completed)), FinishVerdict::accepted);
  NewExecution again = flow();
  again.id = before.id;
  (void)admit(again);
  std::vector<Claim> claims = claim(worker_);
  if (claims.empty()) { return; }  // on this store an execution ID cannot be used again
  const std::vector<Claim> others = claimed(flow(), together_many - 1);
  claims.insert(claims.end(), others.begin(), others.end());
  EXPECT_EQ(store().finish(endings_with_entries(claims)),
            std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  expect_completed(claims);
  for (const Claim& claim : claims) { EXPECT_EQ(history(claim.id).entries.size(), 2U); }
}

TEST_F(TogetherConformance, WhoWaitsForOneOfThemIsTold) {
  const Claim parent = begun("parent");
  NewExecution child = child_of(parent);
  ASSERT_EQ(advance_run(parent, {starting(0, child)}).verdict, FinishVerdict::accepted);
  ASSERT_EQ(wait(parent), FinishVerdict::accepted);
  std::vector<Claim> claims = claimed(request(), together_many - 1);
  ASSERT_EQ(std::ssize(claims), together_many - 1);
  std::vector<Claim> last = claim(worker_);
  claims.insert(claims.end(), last.begin(), last.end());
  ASSERT_EQ(std::ssize(claims), together_many);
  EXPECT_EQ(store().finish(completions(claims)), std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  const Claim again = woken(parent.id);
  EXPECT_EQ(events(again.id).size(), 1U);
}

TEST_F(TogetherConformance, OneWithALimitKeyReleasesIt) {
  std::vector<Claim> claims = claimed();
  NewExecution first = request();
  first.limit_key = LimitKey{.text = "k"};
  NewExecution second = request();
  second.limit_key = LimitKey{.text = "k"};
  (void)admit_id(first);
  claims[odd] = claim_one(worker_);
  const Uuid held_back = admit_id(second);
  EXPECT_TRUE(claim(worker_).empty());
  EXPECT_EQ(store().finish(completions(claims)), std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  EXPECT_EQ(claim_one(worker_).id, held_back);
}

TEST_F(TogetherConformance, TurnsOfManyRunsAreEachKept) {
  const std::vector<Claim> claims = begun_flows();
  const std::vector<AdvanceReply> replies = store().advance(turns(claims));
  ASSERT_EQ(std::ssize(replies), together_many);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    EXPECT_EQ(replies[i].verdict, FinishVerdict::accepted);
    const std::vector<JournalEntry> kept = history(claims[i].id).entries;
    ASSERT_EQ(kept.size(), 2U);
    EXPECT_EQ(kept[1].data, R"("second")");
    EXPECT_EQ(kept[1].name, "step-1");
    EXPECT_EQ(kept[1].fence, 1);
    EXPECT_EQ(kept[1].at, replies[i].at);
  }
}

TEST_F(TogetherConformance, AStaleTurnKeepsNothingAndTheOthersAll) {
  const std::vector<Claim> claims = begun_flows();
  std::vector<Advance> all = turns(claims);
  all[odd].fence = 7;
  const std::vector<AdvanceReply> replies = store().advance(all);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    EXPECT_EQ(replies[i].verdict, i == odd ? FinishVerdict::stale : FinishVerdict::accepted) << i;
    EXPECT_EQ(history(claims[i].id).entries.size(), i == odd ? 0U : 2U) << i;
  }
}

TEST_F(TogetherConformance, ATurnWhosePositionIsTakenKeepsNothingAndTheOthersAll) {
  const std::vector<Claim> claims = begun_flows();
  ASSERT_EQ(advance_run(claims[odd], {entry(1, R"("before")")}).verdict, FinishVerdict::accepted);
  const std::vector<AdvanceReply> replies = store().advance(turns(claims));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    EXPECT_EQ(replies[i].verdict, i == odd ? FinishVerdict::stale : FinishVerdict::accepted) << i;
    EXPECT_EQ(history(claims[i].id).entries.size(), i == odd ? 1U : 2U) << i;
  }
  EXPECT_EQ(history(claims[odd].id).entries.at(0).data, R"("before")");
}

TEST_F(TogetherConformance, ALongTurnIsKeptWholeOrNotAtAll) {
  const Claim first = begun("first");
  const Claim second = begun("second");
  std::vector<JournalEntry> entries;
  for (int position = 0; position < 100; ++position) { entries.push_back(entry(position)); }
  EXPECT_EQ(advance_run(first, entries).verdict, FinishVerdict::accepted);
  EXPECT_EQ(history(first.id).entries.size(), 100U);
  ASSERT_EQ(advance_run(second, {entry(77)}).verdict, FinishVerdict::accepted);
  EXPECT_EQ(advance_run(second, entries).verdict, FinishVerdict::stale);
  EXPECT_EQ(history(second.id).entries.size(), 1U);
}

TEST_F(TogetherConformance, OutcomesBringTheirLastEntries) {
  const std::vector<Claim> claims = begun_flows();
  EXPECT_EQ(store().finish(endings_with_entries(claims)),
            std::vector<FinishVerdict>(together_many, FinishVerdict::accepted));
  expect_completed(claims);
  for (const Claim& claim : claims) { EXPECT_EQ(history(claim.id).entries.size(), 2U); }
}

TEST_F(TogetherConformance, AnOutcomeWhoseEntriesCannotBeKeptIsStaleAlone) {
  const std::vector<Claim> claims = begun_flows();
  ASSERT_EQ(advance_run(claims[odd], {entry(1)}).verdict, FinishVerdict::accepted);
  expect_all_but_odd(store().finish(endings_with_entries(claims)));
  EXPECT_EQ(status(claims[odd].id), Status::running);
  EXPECT_EQ(history(claims[odd].id).entries.size(), 1U);
  expect_completed(claims, odd);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (i != odd) { EXPECT_EQ(history(claims[i].id).entries.size(), 2U); }
  }
}

class BornTogetherConformance : public TogetherConformance {
 protected:
  std::vector<NewExecution> born_many() {
    std::vector<NewExecution> items;
    for (int i = 0; i < together_many; ++i) {
      NewExecution item = flow("key-" + std::to_string(i));
      worker_.claim_number += 1;
      item.born_running = BornRunning{.session = worker_.session, .claim_number = worker_.claim_number};
      items.push_back(std::move(item));
    }
    return items;
  }
  void expect_none_runs(const std::vector<Admission>& admissions) {
    for (const Admission& admission : admissions) {
      EXPECT_TRUE(admission.created());
      EXPECT_EQ(admission.fence, std::nullopt);
      EXPECT_EQ(status(admission.id), Status::pending);
    }
  }
};

TEST_F(BornTogetherConformance, AllRunAtOnceUnderTheirOwnClaims) {
  const std::vector<NewExecution> items = born_many();
  const std::vector<Admission> admissions = store().admit(items);
  ASSERT_EQ(std::ssize(admissions), together_many);
  for (std::size_t i = 0; i < admissions.size(); ++i) {
    EXPECT_TRUE(admissions[i].created());
    EXPECT_EQ(admissions[i].id, items[i].id);
    EXPECT_EQ(admissions[i].status, Status::running);
    EXPECT_EQ(admissions[i].fence, 1);
    EXPECT_EQ(admissions[i].run, 1);
    const Execution running = get(admissions[i].id);
    EXPECT_EQ(running.status, Status::running);
    EXPECT_EQ(running.session, worker_.session);
    EXPECT_EQ(running.attempt, 1);
    EXPECT_EQ(running.started_at, running.created_at);
  }
  EXPECT_TRUE(claim(worker_).empty());
}

TEST_F(BornTogetherConformance, EachHasTheNumberOfItsOwnClaim) {
  const std::vector<NewExecution> items = born_many();
  (void)store().admit(items);
  // The beat lists no execution, while only the claims up to the odd item's are settled: the later ones are in flight.
  (void)store().beat({.session = worker_.session,
                      .lease = worker_.lease,
                      .settled_claim_number = items[odd].born_running->claim_number});
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(status(items[i].id), i <= odd ? Status::pending : Status::running) << i;
  }
}

TEST_F(BornTogetherConformance, AKeyThatIsHeldIsAnsweredAndTheOthersRun) {
  const Uuid holder = admit_id(flow("key-" + std::to_string(odd)));
  const Claim running = claim_one(worker_);  // the queue is empty now
  ASSERT_EQ(running.id, holder);
  const std::vector<Admission> admissions = store().admit(born_many());
  for (std::size_t i = 0; i < admissions.size(); ++i) {
    EXPECT_EQ(admissions[i].created(), i != odd) << i;
    EXPECT_EQ(admissions[i].status, Status::running) << i;
  }
  EXPECT_EQ(admissions[odd].id, holder);
}

TEST_F(BornTogetherConformance, OfTwoWithOneKeyTheFirstIsCreated) {
  std::vector<NewExecution> items = born_many();
  items[odd].identity = items[3].identity;
  const std::vector<Admission> admissions = store().admit(items);
  for (std::size_t i = 0; i < admissions.size(); ++i) { EXPECT_EQ(admissions[i].created(), i != odd) << i; }
  EXPECT_EQ(admissions[odd].id, items[3].id);
}

TEST_F(BornTogetherConformance, TheSameRequestsOnceMoreAreTheSameExecutions) {
  const std::vector<NewExecution> items = born_many();
  (void)store().admit(items);
  const std::vector<Admission> again = store().admit(items);
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].id, items[i].id);
    EXPECT_EQ(again[i].status, Status::running);
  }
  std::set<Uuid> all;
  for (const Execution& one : store().list({.limit = 1000})) { all.insert(one.id); }
  EXPECT_EQ(std::ssize(all), together_many);
}

TEST_F(BornTogetherConformance, NoneRunsWhileSomethingWaitsInTheQueue) {
  (void)admit_id(flow());
  expect_none_runs(store().admit(born_many()));
}

TEST_F(BornTogetherConformance, NoneRunsInAPausedQueueOrForASessionThatIsGone) {
  std::vector<NewExecution> items = born_many();
  for (NewExecution& item : items) { item.born_running->session = base::new_uuid7(); }
  expect_none_runs(store().admit(items));
  (void)store().purge({.namespace_name = "default", .name = "flows"}, 1000);
  store().configure_queue({.namespace_name = "default", .name = "flows"}, {.paused = true});
  std::vector<NewExecution> others = born_many();
  for (NewExecution& item : others) { item.identity->key += "-other"; }
  for (std::size_t i = 0; i < others.size(); ++i) { others[i].identity->hash[0] ^= 0xff; }
  expect_none_runs(store().admit(others));
}

TEST_F(BornTogetherConformance, OneThatIsToWaitIsInTheWayOfThoseBehindIt) {
  std::vector<NewExecution> items = born_many();
  items[odd].born_running.reset();
  const std::vector<Admission> admissions = store().admit(items);
  for (std::size_t i = 0; i < admissions.size(); ++i) { EXPECT_EQ(admissions[i].fence.has_value(), i < odd) << i; }
}

}  // namespace

}  // namespace hapax::conformance
