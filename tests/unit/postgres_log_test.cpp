// The PostgreSQL server's log has no errors that hapax causes on purpose.
#include "unit/postgres_fixture.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

namespace hapax::store {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PostgresLogTest : public PostgresStoreTest {
 protected:
  PostgresLogTest() : session_(session()) { (void)errors(); }

  // The errors of statements on this test's schema since the last call.
  std::vector<std::string> errors() {
    psql_.run("SELECT 1");
    std::ifstream log(environment("HAPAX_TEST_POSTGRES_FOLDER") + "/postgres.log");
    log.seekg(read_);
    const std::string text{std::istreambuf_iterator<char>(log), {}};
    read_ += static_cast<std::streamoff>(text.size());
    std::vector<std::string> found;
    for (std::size_t at = text.find("ERROR:"); at != std::string::npos;) {
      const std::size_t next = text.find("ERROR:", at + 1);
      const std::string entry = text.substr(at, next - at);
      if (entry.find(schema_) != std::string::npos) { found.push_back(entry.substr(0, entry.find('\n'))); }
      at = next;
    }
    return found;
  }

  // A store object that has met no held identity yet, and so expects none.
  [[nodiscard]] std::unique_ptr<Store> other_store() const { return open(url_, {}); }

  std::vector<Claim> claim(int limit) {
    return store_
        ->claim({.session = session_, .claim_number = ++claims_, .queues = {{}}, .limit = limit, .idle = limit})
        .claims;
  }
  std::vector<Claim> claimed(int count) {
    std::vector<NewExecution> items;
    for (int i = 0; i < count; ++i) { items.push_back(request()); }
    (void)store_->admit(items);
    return claim(count);
  }

  std::streamoff read_ = 0;
  Uuid session_;
  std::int64_t claims_ = 0;
};

TEST_F(PostgresLogTest, OutcomesWithWaitersAndStaleOnesFailNoStatement) {
  const std::vector<Claim> claims = claimed(4);
  ASSERT_EQ(claims.size(), 4U);
  psql_.run("UPDATE " + schema_ + ".live SET waiters = ARRAY[id], waiter_positions = '{1}' WHERE id = '" +
            claims[1].id.to_string() + "'");
  std::vector<Finish> finishes;
  for (const Claim& one : claims) { finishes.push_back(completed(one)); }
  finishes[2].fence += 1;
  using enum FinishVerdict;
  EXPECT_THAT(store_->finish(finishes), ElementsAre(accepted, accepted, stale, accepted));
  EXPECT_EQ(count("history"), "3");
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(PostgresLogTest, AStaleTurnFailsNoStatement) {
  const std::vector<Claim> claims = claimed(2);
  ASSERT_EQ(claims.size(), 2U);
  std::vector<Advance> turns;
  for (const Claim& one : claims) {
    JournalEntry entry;
    entry.position = 1;
    entry.name = "step";
    entry.data = "1";
    turns.push_back({.execution = one.id, .fence = one.fence, .entries = {entry}});
  }
  turns[0].fence += 1;
  const std::vector<AdvanceReply> replies = store_->advance(turns);
  EXPECT_EQ(replies.at(0).verdict, FinishVerdict::stale);
  EXPECT_EQ(replies.at(1).verdict, FinishVerdict::accepted);
  EXPECT_EQ(count("journal"), "1");
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(PostgresLogTest, ADrainingQueueFailsNoStatement) {
  store_->configure_queue({}, {.draining = true});
  std::vector<NewExecution> many;
  for (int i = 0; i < 600; ++i) { many.push_back(keyed("k" + std::to_string(i))); }
  for (const Admission& one : store_->admit(many)) { EXPECT_EQ(one.verdict, AdmissionVerdict::queue_draining); }
  EXPECT_EQ(store_->admit({&many.front(), 1}).at(0).verdict, AdmissionVerdict::queue_draining);
  EXPECT_EQ(count("identities"), "0");
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(PostgresLogTest, ARequestThatReplacesItsHolderFailsNoStatement) {
  NewExecution item = keyed("k");
  item.identity->on_conflict = OnConflict::terminate_existing;
  EXPECT_TRUE(store_->admit({&item, 1}).at(0).created());
  for (int i = 0; i < 3; ++i) {
    item.id = base::new_uuid7();
    EXPECT_TRUE(store_->admit({&item, 1}).at(0).created());
  }
  EXPECT_EQ(count("live"), "1");
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(PostgresLogTest, ARequestThatReplacesItsHolderAmongOthersFailsNoStatement) {
  NewExecution held = keyed("held");
  held.identity->on_conflict = OnConflict::terminate_existing;
  ASSERT_TRUE(store_->admit({&held, 1}).at(0).created());
  for (int round = 0; round < 2; ++round) {
    held.id = base::new_uuid7();
    const std::vector<NewExecution> items{keyed("new" + std::to_string(round)), request(), held};
    for (const Admission& one : store_->admit(items)) { EXPECT_TRUE(one.created()); }
  }
  EXPECT_EQ(count("live"), "5");
  EXPECT_EQ(count("identities"), "3");
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(PostgresLogTest, DuplicatesFailNoStatement) {
  for (const int size : {2, 20, 600}) {
    std::vector<NewExecution> items;
    for (int i = 0; i < size; ++i) { items.push_back(keyed(std::to_string(size) + "-" + std::to_string(i))); }
    for (const Admission& one : other_store()->admit(items)) { EXPECT_TRUE(one.created()); }
    for (NewExecution& item : items) { item.id = base::new_uuid7(); }
    items.back() = keyed("another-" + std::to_string(size));
    const std::vector<Admission> admissions = other_store()->admit(items);
    for (std::size_t i = 0; i + 1 < items.size(); ++i) { EXPECT_FALSE(admissions[i].created()); }
    EXPECT_TRUE(admissions.back().created());
  }
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(PostgresLogTest, ATakenNameFailsNoStatement) {
  NewExecution first = keyed("a"), second = keyed("b");
  first.identity->name = second.identity->name = base::sha256("name");
  EXPECT_TRUE(other_store()->admit({&first, 1}).at(0).created());
  EXPECT_EQ(other_store()->admit({&second, 1}).at(0).verdict, AdmissionVerdict::name_taken);
  EXPECT_EQ(count("identities"), "1");
  EXPECT_THAT(errors(), IsEmpty());
}

}  // namespace

}  // namespace hapax::store
