// The journal: fenced entries of a running execution, each with its position.
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class JournalConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    worker_ = worker(1h);
    id_ = admit_id(request());
    claim_ = claim_one(worker_);
  }

  JournalEntry entry(std::int32_t position, const std::string& data) const {
    return {.execution = id_,
            .fence = claim_.fence,
            .position = position,
            .kind = 3,
            .name = "step-" + std::to_string(position),
            .data = data};
  }

  std::vector<FinishVerdict> append(const std::vector<JournalEntry>& entries) {
    return store().journal_append(entries);
  }

  std::vector<std::string> data() {
    std::vector<std::string> all;
    for (const JournalEntry& one : store().journal_read(id_)) { all.push_back(one.data); }
    return all;
  }

  TestWorker worker_;
  Uuid id_;
  Claim claim_;
};

using Verdicts = std::vector<FinishVerdict>;
using Data = std::vector<std::string>;
constexpr FinishVerdict accepted = FinishVerdict::accepted;
constexpr FinishVerdict stale = FinishVerdict::stale;

TEST_F(JournalConformance, IsEmptyAtFirst) {
  EXPECT_TRUE(store().journal_read(id_).empty());
  EXPECT_TRUE(store().journal_read(base::new_uuid7()).empty());
}

TEST_F(JournalConformance, IsReadInTheOrderOfPositions) {
  EXPECT_EQ(append({entry(2, "20"), entry(0, "0")}), (Verdicts{accepted, accepted}));
  EXPECT_EQ(append({entry(1, "10")}), Verdicts{accepted});
  EXPECT_EQ(data(), (Data{"0", "10", "20"}));
}

TEST_F(JournalConformance, AnEntryComesBackAsItWasGiven) {
  const JournalEntry given = entry(5, R"({"paid":true})");
  EXPECT_EQ(append({given}), Verdicts{accepted});
  const std::vector<JournalEntry> read = store().journal_read(id_);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].execution, id_);
  EXPECT_EQ(read[0].fence, claim_.fence);
  EXPECT_EQ(read[0].position, 5);
  EXPECT_EQ(read[0].kind, 3);
  EXPECT_EQ(read[0].name, "step-5");
  EXPECT_EQ(read[0].data, given.data);
  EXPECT_LE(read[0].at, store().now());
  EXPECT_GT(read[0].at, store().now() - 1min);
}

TEST_F(JournalConformance, ATakenPositionIsStaleAndKeepsWhatItHas) {
  EXPECT_EQ(append({entry(0, "1")}), Verdicts{accepted});
  EXPECT_EQ(append({entry(0, "2")}), Verdicts{stale});
  EXPECT_EQ(data(), Data{"1"});
}

TEST_F(JournalConformance, AStaleEntryDoesNotHoldUpItsNeighbours) {
  EXPECT_EQ(append({entry(0, "1")}), Verdicts{accepted});
  EXPECT_EQ(append({entry(0, "2"), entry(1, "3")}), (Verdicts{stale, accepted}));
  EXPECT_EQ(data(), (Data{"1", "3"}));
}

TEST_F(JournalConformance, OfTwoEntriesForOnePositionTheFirstCounts) {
  EXPECT_EQ(append({entry(0, "1"), entry(0, "2")}), (Verdicts{accepted, stale}));
  EXPECT_EQ(data(), Data{"1"});
}

TEST_F(JournalConformance, AnOldFenceIsRefused) {
  const JournalEntry old = entry(1, "old");
  EXPECT_EQ(append({entry(0, "1")}), Verdicts{accepted});
  EXPECT_EQ(finish(ending(claim_, FinishKind::retry)), FinishVerdict::accepted);
  EXPECT_EQ(append({old}), Verdicts{stale}) << "nobody has it now";
  claim_ = claim_one(worker_);
  EXPECT_EQ(append({old}), Verdicts{stale});
  EXPECT_EQ(append({entry(1, "new")}), Verdicts{accepted});
  EXPECT_EQ(data(), (Data{"1", "new"})) << "what earlier attempts wrote stays";
}

TEST_F(JournalConformance, AFinishedExecutionTakesNoMoreAndCanBeRead) {
  EXPECT_EQ(append({entry(0, "1")}), Verdicts{accepted});
  EXPECT_EQ(finish(completed(claim_)), FinishVerdict::accepted);
  EXPECT_EQ(append({entry(1, "2")}), Verdicts{stale});
  EXPECT_EQ(data(), Data{"1"});
}

TEST_F(JournalConformance, AnUnknownExecutionIsStale) {
  JournalEntry nobody = entry(0, "1");
  nobody.execution = base::new_uuid7();
  EXPECT_EQ(append({nobody}), Verdicts{stale});
}

TEST_F(JournalConformance, JournalsAreApart) {
  const Uuid other = admit_id(request());
  const Claim second = claim_one(worker_);
  JournalEntry theirs = entry(0, "theirs");
  theirs.execution = other;
  theirs.fence = second.fence;
  EXPECT_EQ(append({entry(0, "ours"), theirs}), (Verdicts{accepted, accepted}));
  EXPECT_EQ(data(), Data{"ours"});
  ASSERT_EQ(store().journal_read(other).size(), 1U);
  EXPECT_EQ(store().journal_read(other)[0].data, "theirs");
}

TEST_F(JournalConformance, IsGoneWithRetention) {
  store().configure_queue({}, {.retention = 1h});
  EXPECT_EQ(append({entry(0, "1")}), Verdicts{accepted});
  EXPECT_EQ(finish(completed(claim_)), FinishVerdict::accepted);
  advance(2h);
  EXPECT_TRUE(store().journal_read(id_).empty()) << "expired, though not swept";
  advance(std::chrono::days(3));
  EXPECT_EQ(sweep(true).expired, 1);
  if (capabilities().speaks_sql) { EXPECT_EQ(store().sql("SELECT count(*) FROM journal", 1).rows.at(0).at(0), "0"); }
}

}  // namespace

}  // namespace hapax::conformance
