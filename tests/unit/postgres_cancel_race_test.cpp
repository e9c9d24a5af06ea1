// A cancellation between the two statements that put executions back into the queue: the first ends those whose
// cancellation was requested, the second puts the others back. Without care neither sees a request that comes in
// between.
#include "unit/postgres_fixture.hpp"

#include <future>
#include <thread>

namespace hapax::store {

namespace {

// Blocks the second statement at its start: unlike the first, it writes to `attempts`.
class PostgresCancelRace : public PostgresStoreTest {
 protected:
  PostgresCancelRace() : gate_(server_url()) {}

  Claim claimed(const Uuid& worker) {
    const NewExecution item = request();
    (void)store_->admit({&item, 1});
    return store_->claim(claim_of(worker, ++claims_, 1)).claims.at(0);
  }

  void close_gate() { gate_.run("BEGIN; LOCK TABLE " + schema_ + ".attempts IN SHARE MODE"); }
  void open_gate() { gate_.run("COMMIT"); }

  int waiting_for_locks() {
    return std::stoi("0" + psql_.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                                     "application_name = '" +
                                     schema_ + "'"));
  }

  // Cancels the execution while `first` waits at the gate; if the row is locked, the cancellation waits too.
  template <class First>
  void cancel_between(const Uuid& id, First& first) {
    while (waiting_for_locks() == 0 && first.wait_for(0s) != std::future_status::ready) { std::this_thread::yield(); }
    auto cancelling = std::async(std::launch::async, [&] { return store_->cancel({&id, 1}, "no longer wanted"); });
    while (waiting_for_locks() < 2 && cancelling.wait_for(0s) != std::future_status::ready) {
      std::this_thread::yield();
    }
    open_gate();
    (void)cancelling.get();
  }

  void expect_cancelled(const Uuid& id) {
    const auto found = store_->get(id);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->status, Status::cancelled) << "without a sweep, and without a beat";
  }

 private:
  Psql gate_;
  std::int64_t claims_ = 0;
};

// Each call runs once before: preparing a statement for the first time would wait at the gate for its tables, before
// the statements in front of it run.
TEST_F(PostgresCancelRace, WhatASessionGivesBackAtItsEndIsCancelled) {
  const Uuid earlier = session();
  const Uuid warm = claimed(earlier).id;
  store_->close_session(earlier);
  (void)store_->cancel({&warm, 1}, "done with");
  const Uuid worker = session();
  const Claim claim = claimed(worker);
  close_gate();
  auto closing = std::async(std::launch::async, [&] { store_->close_session(worker); });
  cancel_between(claim.id, closing);
  closing.get();
  expect_cancelled(claim.id);
}

TEST_F(PostgresCancelRace, WhatABeatDoesNotKnowIsCancelled) {
  const Uuid worker = session();
  const Uuid warm = claimed(worker).id;
  EXPECT_EQ(store_->beat({.session = worker, .settled_claim_number = 1000}).released, 1);
  (void)store_->cancel({&warm, 1}, "done with");
  const Claim claim = claimed(worker);
  close_gate();
  auto beating =
      std::async(std::launch::async, [&] { return store_->beat({.session = worker, .settled_claim_number = 1000}); });
  cancel_between(claim.id, beating);
  EXPECT_EQ(beating.get().released, 1);
  expect_cancelled(claim.id);
}

TEST_F(PostgresCancelRace, AnOutcomeThatWouldGoOnIsAcceptedAndCancelled) {
  const Uuid worker = session();
  for (const FinishKind kind : {FinishKind::retry, FinishKind::snoozed, FinishKind::released}) {
    const Claim warm = claimed(worker);
    const Finish before{.id = warm.id, .fence = warm.fence, .kind = kind, .delay = 1h};
    (void)store_->finish({&before, 1});
    (void)store_->cancel({&warm.id, 1}, "done with");
    const Claim claim = claimed(worker);
    Finish finish{.id = claim.id, .fence = claim.fence, .kind = kind, .delay = 1h};
    finish.error = ErrorInfo{.type = "Broken", .message = "broken", .detail = ""};
    close_gate();
    auto finishing = std::async(std::launch::async, [&] { return store_->finish({&finish, 1}).at(0); });
    cancel_between(claim.id, finishing);
    EXPECT_EQ(finishing.get(), FinishVerdict::accepted) << static_cast<int>(kind);
    expect_cancelled(claim.id);
    EXPECT_EQ(store_->finish({&finish, 1}).at(0), FinishVerdict::accepted) << "repeated";
  }
}

}  // namespace

}  // namespace hapax::store
