// PostgreSQL and other sessions' open transactions: which calls they delay, lent transactions, and what is on disk
// afterwards.
#include "base/fault.hpp"
#include "base/uuid7.hpp"
#include "store/open.hpp"
#include "unit/postgres_fixture.hpp"

#include <hapax/error.hpp>

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace hapax::store {

namespace {

TEST_F(PostgresStoreTest, AnIdentityThatAnOpenTransactionHasHoldsUpNobodyElse) {
  Psql user(server_url());
  user.run("BEGIN");
  const NewExecution theirs = keyed("contested");
  EXPECT_TRUE(store_->attach(user.native())->admit({&theirs, 1}).at(0).created());
  const std::vector<NewExecution> batch{keyed("contested"), keyed("free"), request()};
  EXPECT_THROW((void)store_->try_admit(batch), Blocked);
  EXPECT_EQ(count("live"), "0") << "a blocked batch changes nothing";
  for (const NewExecution& item : {batch[1], batch[2]}) { EXPECT_TRUE(store_->try_admit({&item, 1}).at(0).created()); }
  user.run("ROLLBACK");
}

TEST_F(PostgresStoreTest, ABatchThatWaitsForAnOpenTransactionIsAdmittedAsAWhole) {
  Psql user(server_url());
  user.run("BEGIN");
  const NewExecution theirs = keyed("contested");
  EXPECT_TRUE(store_->attach(user.native())->admit({&theirs, 1}).at(0).created());
  const std::vector<NewExecution> batch{keyed("free"), keyed("contested"), keyed("free too"), request()};
  auto admitting = std::async(std::launch::async, [&] { return store_->admit(batch); });
  const auto until = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < until) { ASSERT_EQ(count("live"), "0") << "all of a batch or none"; }
  ASSERT_NE(admitting.wait_for(0s), std::future_status::ready) << "it did not wait for the open transaction";
  user.run("COMMIT");
  const std::vector<Admission> admissions = admitting.get();
  EXPECT_TRUE(admissions[0].created());
  EXPECT_EQ(admissions[1].verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(admissions[1].id, theirs.id);
  EXPECT_TRUE(admissions[2].created());
  EXPECT_TRUE(admissions[3].created());
  EXPECT_EQ(count("live"), "4");
}

// The last item is a repeated request whose row another session has locked, so its answer is known only after the wait.
TEST_F(PostgresStoreTest, ABatchThatIsBlockedAtItsLastItemHasChangedNothing) {
  const NewExecution again = keyed("again");
  ASSERT_TRUE(store_->admit({&again, 1}).at(0).created());
  Psql user(server_url());
  user.run("BEGIN");
  user.run("SELECT 1 FROM " + schema_ + ".identities FOR UPDATE");
  const std::vector<NewExecution> batch{keyed("free"), request(), again};
  EXPECT_THROW((void)store_->try_admit(batch), Blocked);
  EXPECT_EQ(count("live"), "1");
  user.run("ROLLBACK");
  const std::vector<Admission> admissions = store_->try_admit(batch);
  for (const Admission& admission : admissions) { EXPECT_TRUE(admission.created()); }
  EXPECT_EQ(admissions[2].id, again.id);
  EXPECT_EQ(count("live"), "3");
}

TEST_F(PostgresStoreTest, ALoserDoesNotTrustAWinnerThatRollsBack) {
  Psql user(server_url());
  user.run("BEGIN");
  const NewExecution theirs = keyed("contested");
  EXPECT_TRUE(store_->attach(user.native())->admit({&theirs, 1}).at(0).created());
  const NewExecution ours = keyed("contested");
  auto admitting = std::async(std::launch::async, [&] { return store_->admit({&ours, 1}).at(0); });
  while (psql_.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = '" +
                   schema_ + "'") == "0") {
    std::this_thread::yield();
  }
  user.run("ROLLBACK");
  const Admission admission = admitting.get();
  EXPECT_TRUE(admission.created());
  EXPECT_EQ(admission.id, ours.id);
  EXPECT_FALSE(store_->get(theirs.id).has_value());
}

TEST_F(PostgresStoreTest, AttachingNeedsAnOpenTransaction) {
  Psql user(server_url());
  EXPECT_THROW((void)store_->attach(user.native()), UsageError);
  EXPECT_THROW((void)store_->attach(nullptr), UsageError);
}

TEST_F(PostgresStoreTest, AnOutcomeInAUsersTransactionIsKeptWithItsWrites) {
  const Uuid worker = session();
  const NewExecution item = request();
  (void)store_->admit({&item, 1});
  const ClaimRequest request = claim_of(worker, 1, 1);
  const Claim claim = store_->claim(request).claims.at(0);
  Psql user(server_url());
  user.run("CREATE TABLE " + schema_ + ".effects (id int)");
  for (const char* end : {"ROLLBACK", "COMMIT"}) {
    user.run("BEGIN");
    user.run("INSERT INTO " + schema_ + ".effects VALUES (1)");
    store_->attach(user.native())->finish(completed(claim));
    user.run(end);
    const bool kept = std::string(end) == "COMMIT";
    EXPECT_EQ(store_->get(item.id)->status, kept ? Status::completed : Status::running);
    EXPECT_EQ(count("effects"), kept ? "1" : "0");
  }
}

TEST_F(PostgresStoreTest, AStaleOutcomeMakesAUsersTransactionUncommittable) {
  const Uuid worker = session();
  const NewExecution item = request();
  (void)store_->admit({&item, 1});
  const ClaimRequest first = claim_of(worker, 1, 1);
  const Claim stale = store_->claim(first).claims.at(0);
  const Finish released{.id = stale.id, .fence = stale.fence, .kind = FinishKind::released};
  (void)store_->finish({&released, 1});
  const ClaimRequest second = claim_of(worker, 2, 1);
  ASSERT_EQ(store_->claim(second).claims.at(0).fence, 2);
  Psql user(server_url());
  user.run("CREATE TABLE " + schema_ + ".effects (id int)");
  user.run("BEGIN");
  user.run("INSERT INTO " + schema_ + ".effects VALUES (1)");
  EXPECT_THROW(store_->attach(user.native())->finish(completed(stale)), StaleLease);
  EXPECT_EQ(PQtransactionStatus(user.native()), PQTRANS_INERROR);
  user.run("COMMIT");  // PostgreSQL rolls back
  EXPECT_EQ(count("effects"), "0");
  EXPECT_EQ(store_->get(item.id)->status, Status::running);
}

}  // namespace

}  // namespace hapax::store
