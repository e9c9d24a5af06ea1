// Hints to a guard's record: a record found by a hint is the one in the store.
#include "store/sqlite/guard_hints.hpp"

#include "base/uuid7.hpp"
#include "model/identity.hpp"
#include "store/open.hpp"
#include "store/store.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace hapax::store::sqlite {
namespace {

using namespace std::chrono_literals;

base::Digest digest_of(int number) { return base::sha256(std::to_string(number)); }

TEST(GuardHints, AreFoundUntilAnotherTakesTheirPlace) {
  GuardHints hints;
  EXPECT_FALSE(hints.find(digest_of(1)));
  const Uuid execution = base::new_uuid7();
  hints.put(digest_of(1), {.execution = execution, .fingerprint = digest_of(7)});
  EXPECT_EQ(hints.find(digest_of(1))->execution, execution);
  EXPECT_EQ(hints.find(digest_of(1))->fingerprint, digest_of(7));
  hints.put(digest_of(1), {.execution = execution, .fingerprint = std::nullopt});
  EXPECT_FALSE(hints.find(digest_of(1))->fingerprint);
  EXPECT_FALSE(hints.find(digest_of(2)));
  base::Digest neighbour = digest_of(1);
  neighbour.back() ^= 1;
  EXPECT_FALSE(hints.find(neighbour)) << "the same place, another identity";
  hints.put(neighbour, {.execution = base::new_uuid7(), .fingerprint = std::nullopt});
  EXPECT_FALSE(hints.find(digest_of(1)));
}

// Two identities share one place; each execution shows which identity it belongs to.
TEST(GuardHints, AreNeverOfTwoHalves) {
  GuardHints hints;
  base::Digest one{};
  base::Digest other{};
  other.back() = 1;
  Uuid of_one;
  Uuid of_other;
  of_one.bytes.fill(1);
  of_other.bytes.fill(2);
  std::atomic<bool> over{false};
  std::vector<std::jthread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&] {
      while (!over.load()) {
        hints.put(one, {.execution = of_one, .fingerprint = one});
        hints.put(other, {.execution = of_other, .fingerprint = other});
      }
    });
  }
  int halves = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (const auto found = hints.find(one)) {
      halves += found->execution == of_one && found->fingerprint == one ? 0 : 1;
    }
    if (const auto found = hints.find(other)) {
      halves += found->execution == of_other && found->fingerprint == other ? 0 : 1;
    }
  }
  over = true;
  EXPECT_EQ(halves, 0);
}

// Two stores on one file with separate clocks, as two processes have.
class GuardHintsTwice : public ::testing::Test {
 protected:
  using Offset = std::shared_ptr<std::atomic<std::int64_t>>;

  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hapax-hints-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    here_ = open(mine_);
    there_ = open(theirs_);
  }
  void TearDown() override {
    here_.reset();
    there_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<Store> open(const Offset& offset) {
    return open_sqlite(folder_ + "/guards.db", {.clock_offset_us = offset});
  }

  // A guarded call that begins and completes with the result.
  void call(Store& store, const std::string& result) {
    NewSession session;
    session.id = base::new_uuid7();
    store.open_session(session);
    NewExecution item;
    item.id = base::new_uuid7();
    item.queue = {"default", std::string(model::guard_queue)};
    item.task = "charge";
    item.input = "null";
    item.kind = Kind::guard;
    item.attempt_timeout = 30s;
    item.identity = IdentityClaim{.hash = identity_, .key = "k", .reuse = Reuse::reject, .dedup_window = 0s};
    item.born_running = BornRunning{.session = session.id, .claim_number = 1};
    const Admission admission = store.admit({&item, 1}).at(0);
    ASSERT_EQ(admission.fence, 1) << "not begun";
    const Finish outcome{
        .id = admission.id, .fence = 1, .kind = FinishKind::completed, .result = result, .keep = Keep{.period = 1h}};
    ASSERT_EQ(store.finish({&outcome, 1}).at(0), FinishVerdict::accepted);
  }

  std::string look(Store& store) {
    const auto found = store.guard_outcome(identity_);
    return found ? found->result.value_or("-") : "none";
  }

  std::string folder_;
  const base::Digest identity_ = model::guard_identity_hash("default", "charge", "k");
  Offset mine_ = std::make_shared<std::atomic<std::int64_t>>(0);
  Offset theirs_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::unique_ptr<Store> here_;
  std::unique_ptr<Store> there_;
};

TEST_F(GuardHintsTwice, AForgottenRecordIsGoneForWhoHasAHint) {
  call(*there_, "1");
  EXPECT_EQ(look(*here_), "1");
  EXPECT_EQ(look(*here_), "1");
  const Uuid id = there_->guard(identity_)->id;
  EXPECT_EQ(there_->forget_guards({&id, 1}), 1);
  EXPECT_EQ(look(*here_), "none");
  call(*there_, "2");
  EXPECT_EQ(look(*here_), "2");
}

TEST_F(GuardHintsTwice, AReplacedRecordIsNotFoundAgainEvenByAClockThatWentBack) {
  call(*there_, "1");
  EXPECT_EQ(look(*here_), "1");
  theirs_->store(std::chrono::microseconds(2h).count());
  call(*there_, "2");
  EXPECT_EQ(look(*here_), "2") << "here the first has not expired yet";
  EXPECT_EQ(look(*here_), "2");
}

TEST_F(GuardHintsTwice, AnExpiredRecordIsNone) {
  call(*there_, "1");
  EXPECT_EQ(look(*here_), "1");
  mine_->store(std::chrono::microseconds(1h).count());
  EXPECT_EQ(look(*here_), "none");
}

}  // namespace
}  // namespace hapax::store::sqlite
