// Limits and windows on PostgreSQL alone: other processes that change or abandon them, lost answers, callers'
// transactions, partitions, plans.
#include "unit/postgres_fixture.hpp"

#include <atomic>
#include <future>
#include <thread>

namespace hapax::store {

namespace {

using PostgresLimitsTest = PostgresStoreTest;

TEST_F(PostgresLimitsTest, LimitsThatAnotherProcessSetsHoldForThisOneAtOnce) {
  const Uuid worker = session();
  std::vector<NewExecution> items;
  for (int i = 0; i < 10; ++i) { items.push_back(request()); }
  (void)store_->admit(items);
  const ClaimRequest first = claim_of(worker, 1, 2);
  ASSERT_EQ(store_->claim(first).claims.size(), 2U);
  const auto other = open(url_, {.migrate = Migrate::no});
  other->configure_queue({}, {.concurrency = 3});
  const ClaimRequest second = claim_of(worker, 2, 10);
  EXPECT_EQ(store_->claim(second).claims.size(), 1U);
  const ClaimRequest third = claim_of(worker, 3, 10);
  EXPECT_TRUE(store_->claim(third).claims.empty());
  other->configure_queue({}, {.concurrency = std::optional<int>()});
  const ClaimRequest fourth = claim_of(worker, 4, 10);
  EXPECT_EQ(store_->claim(fourth).claims.size(), 7U) << "without limits it goes the short way again";
}

TEST_F(PostgresLimitsTest, AClaimUnderLimitsWhoseReplyIsLostIsReadBack) {
  const Uuid worker = session();
  store_->configure_queue({}, {.concurrency = 3});
  std::int64_t number = 0;
  for (const char* point : {"postgres.exchange.before_commit", "postgres.exchange.after_commit"}) {
    std::vector<NewExecution> items;
    for (int i = 0; i < 10; ++i) { items.push_back(request()); }
    (void)store_->admit(items);
    base::arm_faults(std::string(point) + "=throw");
    const ClaimRequest next = claim_of(worker, ++number, 10);
    EXPECT_EQ(store_->claim(next).claims.size(), 3U) << point;
    EXPECT_EQ(psql_.run("SELECT count(*) FROM " + schema_ + ".live WHERE state = 1"), "3") << point;
    psql_.run("DELETE FROM " + schema_ + ".live");
  }
}

TEST_F(PostgresLimitsTest, WhatAProcessThatDiedLeftParkedIsFoundByTheSweep) {
  const Uuid worker = session();
  for (const bool ordered : {false, true}) {
    SCOPED_TRACE(ordered);
    NewExecution holder = request();
    NewExecution next = request();
    holder.limit_key = next.limit_key = LimitKey{.text = "k", .ordered = ordered};
    (void)store_->admit({&holder, 1});
    (void)store_->admit({&next, 1});
    const ClaimRequest first = claim_of(worker, ordered ? 3 : 1, 10);
    ASSERT_EQ(store_->claim(first).claims.size(), 1U);
    EXPECT_TRUE(store_->get(next.id)->parked);
    (void)store_->sweep({});
    EXPECT_TRUE(store_->get(next.id)->parked) << "its key is taken";
    // Leaves the state of a process that committed an outcome and died at once.
    psql_.run("DELETE FROM " + schema_ + ".live WHERE state = 1");
    (void)store_->sweep({});
    EXPECT_FALSE(store_->get(next.id)->parked);
    const ClaimRequest second = claim_of(worker, ordered ? 4 : 2, 10);
    ASSERT_EQ(store_->claim(second).claims.size(), 1U);
    psql_.run("DELETE FROM " + schema_ + ".live");
  }
}

TEST_F(PostgresLimitsTest, AnOutcomeInAUsersTransactionFreesItsKeyAtCommitAndHoldsUpNoClaim) {
  const Uuid worker = session();
  std::vector<NewExecution> items;
  for (const char* key : {"a", "a", "b"}) {
    items.push_back(request());
    items.back().limit_key = LimitKey{.text = key};
  }
  (void)store_->admit(items);
  const ClaimRequest first = claim_of(worker, 1, 1);
  const Claim held = store_->claim(first).claims.at(0);
  Psql user(server_url());
  user.run("BEGIN");
  store_->attach(user.native())->finish(completed(held));
  const ClaimRequest second = claim_of(worker, 2, 10);
  const std::vector<Claim> meanwhile = store_->claim(second).claims;
  ASSERT_EQ(meanwhile.size(), 1U);
  EXPECT_EQ(meanwhile[0].id, items[2].id) << "the other key";
  user.run("COMMIT");
  // An execution that was parked, or locked, while the transaction was open is found by the sweep at the latest.
  (void)store_->sweep({});
  const ClaimRequest third = claim_of(worker, 3, 10);
  const std::vector<Claim> after = store_->claim(third).claims;
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after[0].id, items[1].id);
}

TEST_F(PostgresLimitsTest, AnOutcomeInAUsersTransactionBringsBackWhatWasParkedBefore) {
  const Uuid worker = session();
  std::vector<NewExecution> items{request(), request()};
  for (NewExecution& item : items) { item.limit_key = LimitKey{.text = "a"}; }
  (void)store_->admit(items);
  const ClaimRequest first = claim_of(worker, 1, 10);
  const Claim held = store_->claim(first).claims.at(0);
  ASSERT_TRUE(store_->get(items[1].id)->parked);
  Psql user(server_url());
  user.run("BEGIN");
  store_->attach(user.native())->finish(completed(held));
  user.run("COMMIT");
  const ClaimRequest second = claim_of(worker, 2, 10);
  EXPECT_EQ(store_->claim(second).claims.size(), 1U) << "without a sweep";
}

TEST_F(PostgresLimitsTest, ManyWhoClaimAtOnceTakeNoMoreThanTheLimitTogether) {
  constexpr int crowd = 6;
  constexpr int rounds = 15;
  constexpr std::size_t limit = 3;
  store_->configure_queue({}, {.concurrency = static_cast<int>(limit)});
  std::vector<NewExecution> items;
  for (int i = 0; i < rounds * crowd; ++i) { items.push_back(request()); }
  (void)store_->admit(items);
  std::vector<Uuid> workers;
  for (int i = 0; i < crowd; ++i) { workers.push_back(session()); }
  for (int round = 1; round <= rounds; ++round) {
    std::atomic<int> ready = 0;
    std::vector<std::future<std::vector<Claim>>> claiming;
    for (const Uuid& worker : workers) {
      claiming.push_back(std::async(std::launch::async, [&, worker] {
        ready += 1;
        while (ready < crowd) { std::this_thread::yield(); }
        const ClaimRequest next = claim_of(worker, round, static_cast<int>(limit));
        return store_->claim(next).claims;
      }));
    }
    std::vector<Finish> finishes;
    for (auto& one : claiming) {
      for (const Claim& claim : one.get()) { finishes.push_back(completed(claim)); }
    }
    EXPECT_EQ(finishes.size(), limit);
    (void)store_->finish(finishes);
  }
}

TEST_F(PostgresLimitsTest, AWindowOutlivesThePartitionOfItsExecution) {
  const auto offset = std::make_shared<std::atomic<std::int64_t>>(0);
  const auto store = open(url_, {.migrate = Migrate::no, .clock_offset_us = offset});
  const Uuid worker = session();
  NewExecution held = keyed("held");
  held.identity->dedup_window = std::chrono::days(30);
  const NewExecution freed = keyed("free");
  (void)store->admit({&held, 1});
  (void)store->admit({&freed, 1});
  const ClaimRequest claim = claim_of(worker, 1, 10);
  for (const Claim& one : store->claim(claim).claims) {
    const Finish done = completed(one);
    ASSERT_EQ(store->finish({&done, 1}).at(0), FinishVerdict::accepted);
  }
  ASSERT_EQ(count("history_default"), "0") << "they are in a day's partition";
  offset->store(Duration(std::chrono::days(9)).count());
  EXPECT_EQ(store->sweep({.retention = true}).expired, 2);
  EXPECT_EQ(count("history"), "0");
  EXPECT_EQ(count("identities"), "1") << "a tombstone";
  const NewExecution again = keyed("held");
  const Admission admission = store->admit({&again, 1}).at(0);
  EXPECT_EQ(admission.verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(admission.id, held.id);
  EXPECT_TRUE(admission.expired);
  EXPECT_EQ(admission.status, Status::completed);
  offset->store(Duration(std::chrono::days(31)).count());
  (void)store->sweep({.retention = true});
  EXPECT_EQ(count("identities"), "0");
}

// Thirty days mean many partitions to search, so they exist only once there are workflows. Earlier history is deleted
// row by row.
TEST_F(PostgresLimitsTest, WorkflowsAreInPartitionsOfTheirDaysFromTheirSecondDayOn) {
  const auto offset = std::make_shared<std::atomic<std::int64_t>>(0);
  const auto store = open(url_, {.migrate = Migrate::no, .clock_offset_us = offset});
  const auto finish_one_on = [&](int day) {
    offset->store(Duration(std::chrono::days(day)).count());
    (void)store->sweep({.retention = true});
    NewSession session;
    session.id = base::new_uuid7();
    session.lease = 1h;
    store->open_session(session);
    NewExecution flow = request();
    flow.kind = Kind::workflow;
    (void)store->admit({&flow, 1});
    ClaimRequest request = claim_of(session.id, 1, 1);
    request.tasks = {flow.task};
    const Finish done = completed(store->claim(request).claims.at(0));
    EXPECT_EQ(store->finish({&done, 1}).at(0), FinishVerdict::accepted);
    (void)store->sweep({.retention = true});
  };
  const auto partitions = [&] {
    return std::stoi(
        psql_.run("SELECT count(*) FROM pg_inherits WHERE inhparent = '" + schema_ + ".history'::regclass"));
  };
  for (int day = 0; day < 40; ++day) {
    finish_one_on(day);
    ASSERT_EQ(count("history_default"), day < 30 ? "1" : "0") << "day " << day << ": only that of the first day";
    ASSERT_LE(std::stoi(count("history")), 32) << "day " << day << ": a partition goes when its day is over";
    ASSERT_GE(std::stoi(count("history")), std::min(day, 30)) << "day " << day << ": thirty days are kept";
    ASSERT_LE(partitions(), 50) << "and no more partitions than days";
  }
}

TEST_F(PostgresLimitsTest, OneAskedForAgainAfterANewerRunTookItsIdentityIsStillItself) {
  NewExecution first = keyed("a");
  first.identity->mode = IdentityMode::debounce;
  first.input = "1";
  (void)store_->admit({&first, 1});
  const Uuid worker = session();
  const ClaimRequest claim = claim_of(worker, 1, 1);
  ASSERT_EQ(store_->claim(claim).claims.size(), 1U);
  NewExecution second = keyed("a");
  second.identity->mode = IdentityMode::debounce;
  second.input = "2";
  ASSERT_TRUE(store_->admit({&second, 1}).at(0).created());
  const Admission again = store_->admit({&first, 1}).at(0);
  EXPECT_TRUE(again.created());
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.status, Status::running);
  EXPECT_EQ(store_->get(second.id)->input, "2");
}

TEST_F(PostgresLimitsTest, AQueueThatBeginsToDrainWhileItsHolderIsAskedForLeavesThatOneAlone) {
  const NewExecution first = keyed("a");
  (void)store_->admit({&first, 1});
  Psql user(server_url());
  user.run("BEGIN");
  user.run("SELECT 1 FROM " + schema_ + ".identities FOR UPDATE");
  NewExecution next = keyed("a");
  next.identity->on_conflict = OnConflict::terminate_existing;
  // In the caller's transaction the admission waits for the lock as long as the caller allows, instead of polling.
  Psql caller(server_url());
  caller.run("BEGIN");
  std::future<Admission> admitting = std::async(std::launch::async, [&] {
    return store_->attach(caller.native())->admit({&next, 1}).at(0);
  });
  const std::string blocked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%" +
                              schema_ + "%identities%FOR UPDATE%'";
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (psql_.run(blocked) == "0" && std::chrono::steady_clock::now() < give_up) { std::this_thread::yield(); }
  ASSERT_EQ(psql_.run(blocked), "1");
  psql_.run("UPDATE " + schema_ + ".queues SET draining = true");
  user.run("COMMIT");
  EXPECT_EQ(admitting.get().verdict, AdmissionVerdict::queue_draining);
  caller.run("COMMIT");
  EXPECT_EQ(store_->get(first.id)->status, Status::pending);
  EXPECT_EQ(store_->holder(first.identity->hash), first.id);
}

TEST_F(PostgresLimitsTest, AClaimUnderLimitsReadsWhatItTakesToo) {
  constexpr int backlog = 10'000;
  constexpr int taken = 10;
  const Uuid worker = session();
  {
    const auto other = open(url_, {.migrate = Migrate::no});
    other->configure_queue(
        {},
        {.rate = RateLimit{.count = 1'000'000, .burst = 1'000'000}, .concurrency = taken, .worker_concurrency = taken});
    for (std::int64_t number = 1; number <= 8; ++number) {
      const ClaimRequest empty = claim_of(worker, number, taken);
      EXPECT_TRUE(other->claim(empty).claims.empty());
    }
    for (int done = 0; done < backlog; done += 5000) {
      std::vector<NewExecution> items;
      for (int i = 0; i < 5000; ++i) { items.push_back(request()); }
      (void)other->admit(items);
    }
    std::vector<NewExecution> keyed_ones;
    for (int i = 0; i < 100; ++i) {
      keyed_ones.push_back(request());
      keyed_ones.back().priority = 1;
      keyed_ones.back().limit_key = LimitKey{.text = std::to_string(i % 2), .ordered = i % 4 < 2};
    }
    (void)other->admit(keyed_ones);
    std::vector<Finish> finishes;
    for (std::int64_t number = 9; number <= 18; ++number) {
      const ClaimRequest next = claim_of(worker, number, taken);
      const Exchange exchange = other->exchange(finishes, &next);
      finishes.clear();
      for (const Claim& claim : exchange.claim.claims) { finishes.push_back(completed(claim)); }
      ASSERT_EQ(finishes.size(), static_cast<std::size_t>(taken));
    }
    (void)other->sweep({});
  }
  const std::string statistics = "FROM pg_stat_user_tables WHERE relname = 'live' AND schemaname = '" + schema_ + "'";
  while (psql_.run("SELECT n_tup_ins " + statistics) != std::to_string(backlog + 100)) { std::this_thread::yield(); }
  while (psql_.run("SELECT n_tup_del " + statistics) == "0") { std::this_thread::yield(); }
  EXPECT_EQ(psql_.run("SELECT seq_tup_read " + statistics), "0");
  EXPECT_LT(std::stoi(psql_.run("SELECT idx_tup_fetch " + statistics)), 20'000);
}

}  // namespace

}  // namespace hapax::store
