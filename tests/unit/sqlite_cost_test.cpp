// What the SQLite store does for those who use no limits and no identity, which is nothing more than without them; and
// that what uses limits leaves nothing behind in the tables that they are counted from.
#include "base/uuid7.hpp"
#include "store/open.hpp"
#include "store/store.hpp"

#include <gmock/gmock.h>

#include <sqlite3.h>

#include <filesystem>
#include <utility>

namespace hapax::store {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class SqliteCost : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hapax-sqlite-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::unique_ptr<Store> open(const OpenOptions& options = {}) const {
    return open_sqlite(folder_ + "/store.db", options);
  }
  static NewExecution item() {
    NewExecution fresh;
    fresh.id = base::new_uuid7();
    fresh.task = "work";
    return fresh;
  }
  static void admit(Store& store) { static_cast<void>(store.admit(std::vector{item()})); }

 private:
  std::string folder_;
};

// The statements that the store's writer runs, as verb and table.
class Trace {
 public:
  explicit Trace(Store& store) {
    store.transaction([this](Transaction& tx) { db_ = static_cast<sqlite3*>(tx.native()); });
    const auto note = [](unsigned, void* self, void*, void* sql) {
      static_cast<Trace*>(self)->statements_.push_back(named(static_cast<const char*>(sql)));
      return 0;
    };
    sqlite3_trace_v2(db_, SQLITE_TRACE_STMT, note, this);
  }
  ~Trace() { sqlite3_trace_v2(db_, 0, nullptr, nullptr); }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  [[nodiscard]] std::vector<std::string> taken() { return std::exchange(statements_, {}); }

 private:
  static std::string named(const std::string& sql) {
    const std::string verb = sql.substr(0, sql.find(' '));
    for (const std::string before : {" FROM ", " INTO ", "UPDATE "}) {
      const std::size_t at = sql.find(before);
      if (at == std::string::npos) { continue; }
      const std::size_t table = at + before.size();
      return verb + " " + sql.substr(table, sql.find_first_of(" (", table) - table);
    }
    return verb;
  }

  sqlite3* db_ = nullptr;
  std::vector<std::string> statements_;
};

TEST_F(SqliteCost, an_execution_without_identity_in_a_queue_without_limits_runs_no_statement_for_them) {
  const auto store = open();
  admit(*store);
  NewSession session;
  session.id = base::new_uuid7();
  store->open_session(session);
  const ClaimRequest request{.session = session.id, .claim_number = 1, .queues = {{}}};
  const auto claim = [&] { return store->claim(request).claims.at(0); };
  const auto finish = [&](const Claim& of, FinishKind kind) {
    const Finish outcome{.id = of.id, .fence = of.fence, .kind = kind};
    EXPECT_EQ(store->finish({&outcome, 1}).at(0), FinishVerdict::accepted);
  };
  Trace trace(*store);

  admit(*store);
  EXPECT_THAT(trace.taken(), ElementsAre("BEGIN", "SELECT queues", "INSERT live", "COMMIT"));

  Claim claimed = claim();
  EXPECT_THAT(trace.taken(), ElementsAre("BEGIN", "SELECT sessions", "SELECT queues", "SELECT live", "SELECT live",
                                         "SELECT live", "UPDATE live", "COMMIT"));

  finish(claimed, FinishKind::retry);
  EXPECT_THAT(trace.taken(),
              ElementsAre("BEGIN", "SELECT live", "SELECT sessions", "INSERT attempts", "UPDATE live", "COMMIT"));
  claimed = claim();
  static_cast<void>(trace.taken());
  finish(claimed, FinishKind::released);
  EXPECT_THAT(trace.taken(), ElementsAre("BEGIN", "SELECT live", "UPDATE live", "COMMIT"));
  claimed = claim();
  static_cast<void>(trace.taken());
  finish(claimed, FinishKind::completed);
  EXPECT_THAT(trace.taken(), ElementsAre("BEGIN", "SELECT live", "SELECT queues", "SELECT sessions", "INSERT history",
                                         "DELETE live", "INSERT expiries", "COMMIT"));
  EXPECT_EQ(
      store->sql("SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'live'", 1).rows.at(0).at(0),
      "2")
      << "an index more is opened by every change of a row";
}

TEST_F(SqliteCost, what_has_left_by_whatever_way_takes_no_place_under_limits) {
  const auto offset = std::make_shared<std::atomic<std::int64_t>>(0);
  const auto store = open({.clock_offset_us = offset});
  const auto in_limited = [&](const std::string& which) {
    return store->sql("SELECT count(*) FROM limited WHERE " + which, 1).rows.at(0).at(0).value();
  };
  const auto enter = [&] {
    std::vector<NewExecution> items(3, item());
    items[1].limit_key = LimitKey{.text = "shared"};
    items[2].limit_key = LimitKey{.text = "shared", .ordered = true};
    for (NewExecution& one : items) {
      one.id = base::new_uuid7();
      one.deadline = 1h;
    }
    static_cast<void>(store->admit(items));
  };
  NewSession session;
  const auto claim = [&] {
    session.id = base::new_uuid7();
    store->open_session(session);
    return store->claim({.session = session.id, .claim_number = 1, .queues = {{}}, .limit = 9, .idle = 9}).claims;
  };
  store->configure_queue({}, {.concurrency = 3});
  for (const FinishKind kind : {FinishKind::completed, FinishKind::failed, FinishKind::cancelled, FinishKind::timed_out,
                                FinishKind::retry, FinishKind::snoozed, FinishKind::released}) {
    enter();
    const std::vector<Claim> claims = claim();
    ASSERT_EQ(claims.size(), 3U);
    EXPECT_EQ(in_limited("state = 1"), "3");
    for (const Claim& one : claims) {
      const Finish outcome{.id = one.id, .fence = one.fence, .kind = kind};
      EXPECT_EQ(store->finish({&outcome, 1}).at(0), FinishVerdict::accepted);
    }
    EXPECT_EQ(in_limited("state = 1"), "0");
    static_cast<void>(store->purge({}, 10));
    EXPECT_EQ(in_limited("1"), "0");
  }
  enter();
  ASSERT_EQ(claim().size(), 3U);
  store->close_session(session.id);
  EXPECT_EQ(in_limited("state = 1"), "0") << "released";
  ASSERT_EQ(claim().size(), 3U);
  offset->fetch_add(Duration(1min).count());
  EXPECT_EQ(store->sweep({}).requeued, 3);
  EXPECT_EQ(in_limited("state = 1"), "0") << "lost";
  ASSERT_EQ(claim().size(), 1U) << "alone";
  offset->fetch_add(Duration(1h).count());
  static_cast<void>(store->sweep({}));
  EXPECT_EQ(in_limited("1"), "0") << "timed out";
}

}  // namespace
}  // namespace hapax::store
