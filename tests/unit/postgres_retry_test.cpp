// A retry at the moment when the old run expires either creates the run that it returns, or none.
#include "unit/postgres_fixture.hpp"

namespace hapax::store {

namespace {

class RetryAtExpiry : public PostgresStoreTest {
 protected:
  // A failed execution that expires after `how_long`.
  NewExecution failed_for(const std::string& how_long, const std::string& key) {
    const NewExecution item = keyed(key);
    EXPECT_TRUE(store_->admit({&item, 1}).at(0).created());
    const Claim claim = store_->claim(claim_of(session(), 1, 1)).claims.at(0);
    Finish finish{.id = claim.id, .fence = claim.fence, .kind = FinishKind::failed};
    finish.error = ErrorInfo{.type = "Error", .message = "broken", .detail = ""};
    EXPECT_EQ(store_->finish({&finish, 1}).at(0), FinishVerdict::accepted);
    psql_.run("UPDATE " + schema_ + ".history SET expires_at = (extract(epoch FROM clock_timestamp() + interval '" +
              how_long + "') * 1000000)::bigint WHERE id = '" + item.id.to_string() + "'");
    return item;
  }

  // Makes every transaction that gives an identity to another run sleep until the old run has expired.
  void rest_until_expiry() {
    psql_.run("CREATE FUNCTION " + schema_ +
              ".rest() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(greatest(0, max(expires_at) / "
              "1000000.0 - extract(epoch FROM clock_timestamp()) + 0.1)::float8) FROM " +
              schema_ + ".history WHERE id = OLD.execution; RETURN NEW; END $$");
    psql_.run("CREATE TRIGGER rest BEFORE UPDATE ON " + schema_ +
              ".identities FOR EACH ROW WHEN (OLD.execution <> NEW.execution) EXECUTE FUNCTION " + schema_ + ".rest()");
  }
};

TEST_F(RetryAtExpiry, ARunThatExpiresWhileItIsRetriedIsRetried) {
  rest_until_expiry();
  for (int round = 0; round < 10; ++round) {
    const NewExecution item = failed_for("3 s", "k" + std::to_string(round));
    const RetryRequest again{.id = item.id, .new_id = base::new_uuid7()};
    const RetryResult result = store_->retry({&again, 1}).at(0);
    if (result.verdict == RetryVerdict::not_found) { continue; }  // on a busy machine the retry may come too late
    ASSERT_EQ(result.verdict, RetryVerdict::created);
    const std::optional<Execution> made = store_->get(again.new_id);
    ASSERT_TRUE(made) << "a run was told that is not there";
    EXPECT_EQ(made->run, 2);
    EXPECT_EQ(store_->holder(item.identity->hash), again.new_id);
    return;
  }
  FAIL() << "no retry began in time";
}

TEST_F(RetryAtExpiry, ARetryThatIsAskedAgainAfterTheOldRunExpiredTellsOfTheRunItMade) {
  const NewExecution item = failed_for("1 h", "k");
  const RetryRequest again{.id = item.id, .new_id = base::new_uuid7()};
  EXPECT_EQ(store_->retry({&again, 1}).at(0).verdict, RetryVerdict::created);
  psql_.run("UPDATE " + schema_ + ".history SET expires_at = 1");
  const RetryResult result = store_->retry({&again, 1}).at(0);
  EXPECT_EQ(result.verdict, RetryVerdict::created);
  EXPECT_EQ(result.existing, again.new_id);
  EXPECT_EQ(result.run, 2);
  const RetryRequest other{.id = item.id, .new_id = base::new_uuid7()};
  EXPECT_EQ(store_->retry({&other, 1}).at(0).verdict, RetryVerdict::not_found);
}

}  // namespace

}  // namespace hapax::store
