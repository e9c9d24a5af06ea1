// The cost of the SQLite store in statements. Callers that use no limits, no identity and no workflow pay nothing for
// them; limits leave no rows behind in the tables that count them; workflows and activities cost a known number of
// statements.
#include "base/uuid7.hpp"
#include "model/identity.hpp"
#include "store/open.hpp"
#include "store/store.hpp"

#include <gmock/gmock.h>

#include <sqlite3.h>

#include <algorithm>
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

// Records the statements of the store's writer, as verb and table.
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
    for (const std::string before : {" INTO ", " FROM ", "UPDATE "}) {
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
      "3")
      << "an index more is opened by every change of a row";
}

TEST_F(SqliteCost, new_identities_of_a_batch_and_their_rows_are_written_many_at_a_time) {
  const auto store = open();
  admit(*store);
  std::vector<NewExecution> items(100, item());
  for (NewExecution& one : items) {
    one.id = base::new_uuid7();
    one.identity = IdentityClaim{.hash = base::sha256(one.id.to_string()), .key = one.id.to_string()};
  }
  Trace trace(*store);

  static_cast<void>(store->admit(items));

  std::vector<std::string> expected{"BEGIN", "SELECT queues"};
  expected.insert(expected.end(), 100 / 32 + 100 % 32, "INSERT identities");
  expected.insert(expected.end(), 100 / 32 + 100 % 32, "INSERT live");
  expected.emplace_back("COMMIT");
  EXPECT_EQ(trace.taken(), expected);

  for (NewExecution& one : items) { one.id = base::new_uuid7(); }
  static_cast<void>(store->admit(items));
  const std::vector<std::string> again = trace.taken();
  EXPECT_EQ(std::ranges::count(again, "INSERT live"), 0);
  EXPECT_LE(std::ranges::count(again, "INSERT identities"), 110) << "known ones are not hoped to be new for long";
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

class SqliteWorkflowCost : public SqliteCost {
 protected:
  void SetUp() override {
    SqliteCost::SetUp();
    store_ = open();
    NewSession session;
    session.id = base::new_uuid7();
    store_->open_session(session);
    NewExecution flow = item();
    request_ = {.session = session.id, .claim_number = 1, .queues = {{}}, .tasks = {flow.task}};
    flow.kind = Kind::workflow;
    static_cast<void>(store_->admit(std::vector{flow}));
    claimed_ = claim();
    trace_.emplace(*store_);
  }
  void TearDown() override {
    trace_.reset();
    store_.reset();
    SqliteCost::TearDown();
  }

  Claim claim() { return store_->claim(request_).claims.at(0); }
  static JournalEntry entry(std::int32_t position) { return {.position = position, .name = "step", .data = "1"}; }
  static JournalEntry starting(std::int32_t position) {
    JournalEntry one = entry(position);
    one.start = std::make_shared<const NewExecution>(item());
    return one;
  }
  void advance(std::vector<JournalEntry> entries) {
    const Advance turn{.execution = claimed_.id, .fence = claimed_.fence, .entries = std::move(entries)};
    EXPECT_EQ(store_->advance({&turn, 1}).at(0).verdict, FinishVerdict::accepted);
  }
  void finish(const Claim& of, FinishKind kind, std::vector<JournalEntry> entries = {}) {
    Finish outcome{.id = of.id, .fence = of.fence, .kind = kind};
    outcome.turn = std::make_shared<const Turn>(Turn{.entries = std::move(entries)});
    EXPECT_EQ(store_->finish({&outcome, 1}).at(0), FinishVerdict::accepted);
  }
  std::vector<std::string> taken() { return trace_->taken(); }

  std::unique_ptr<Store> store_;
  ClaimRequest request_;
  Claim claimed_;
  std::optional<Trace> trace_;
};

TEST_F(SqliteWorkflowCost, a_turn_is_one_look_and_an_insert_for_each_entry) {
  advance({entry(0), entry(1), entry(2)});
  EXPECT_THAT(taken(),
              ElementsAre("BEGIN", "SELECT live", "INSERT journal", "INSERT journal", "INSERT journal", "COMMIT"));
  advance({starting(3)});
  EXPECT_THAT(taken(), ElementsAre("BEGIN", "SELECT live", "INSERT journal", "SELECT queues", "INSERT live",
                                   "INSERT waiters", "COMMIT"));
  finish(claimed_, FinishKind::completed, {entry(4)});
  EXPECT_THAT(taken(), ElementsAre("BEGIN", "SELECT live", "INSERT journal", "SELECT queues", "SELECT sessions",
                                   "INSERT history", "DELETE live", "INSERT expiries", "COMMIT"));
}

TEST_F(SqliteWorkflowCost, many_turns_and_ends_share_their_statements) {
  std::vector<NewExecution> flows(40, item());
  for (NewExecution& flow : flows) {
    flow.id = base::new_uuid7();
    flow.kind = Kind::workflow;
  }
  static_cast<void>(store_->admit(flows));
  request_.limit = 40;
  const std::vector<Claim> claims = store_->claim(request_).claims;
  ASSERT_EQ(claims.size(), 40U);
  static_cast<void>(taken());

  std::vector<Advance> turns;
  std::vector<Finish> ends;
  for (const Claim& one : claims) {
    turns.push_back({.execution = one.id, .fence = one.fence, .entries = {entry(0)}});
    ends.push_back({.id = one.id, .fence = one.fence, .kind = FinishKind::completed});
    ends.back().turn = std::make_shared<const Turn>(Turn{.entries = {entry(1)}});
  }
  static_cast<void>(store_->advance(turns));
  // 32 rows and 8. The trace of a SELECT of many rows shows no table, because VALUES comes first.
  EXPECT_THAT(taken(), ElementsAre("BEGIN", "SELECT ", "INSERT journal", "SELECT ", "INSERT journal", "COMMIT"));
  static_cast<void>(store_->finish(ends));
  EXPECT_THAT(taken(), ElementsAre("BEGIN", "SELECT live", "SELECT ", "SELECT queues", "INSERT journal",
                                   "SELECT sessions", "INSERT history", "DELETE live", "SELECT live", "SELECT ",
                                   "INSERT journal", "INSERT history", "DELETE live", "INSERT expiries", "COMMIT"));
}

TEST_F(SqliteWorkflowCost, to_wait_and_to_be_woken) {
  finish(claimed_, FinishKind::waiting, {entry(0)});
  EXPECT_THAT(taken(), ElementsAre("BEGIN", "SELECT live", "INSERT journal", "UPDATE live", "COMMIT"));
  const Signal signal{.execution = claimed_.id, .name = "go"};
  EXPECT_TRUE(store_->signal({&signal, 1}).at(0).woken);
  EXPECT_THAT(taken(), ElementsAre("BEGIN", "SELECT live", "INSERT events", "UPDATE live", "SELECT queues", "COMMIT"));
}

TEST_F(SqliteWorkflowCost, the_end_of_a_child_with_one_who_waits) {
  finish(claimed_, FinishKind::waiting, {starting(0)});
  const Claim child = claim();
  static_cast<void>(taken());
  const Finish outcome{.id = child.id, .fence = child.fence};
  EXPECT_EQ(store_->finish({&outcome, 1}).at(0), FinishVerdict::accepted);
  EXPECT_THAT(taken(), ElementsAre("BEGIN", "SELECT live", "SELECT queues", "SELECT sessions", "INSERT history",
                                   "DELETE live", "SELECT waiters", "DELETE waiters", "SELECT live", "INSERT events",
                                   "UPDATE live", "INSERT expiries", "COMMIT"));
}

TEST_F(SqliteCost, a_guarded_call_is_two_small_commits_and_a_repeated_one_no_write) {
  const auto store = open();
  NewSession session;
  session.id = base::new_uuid7();
  store->open_session(session);
  const base::Digest identity = guard_identity_hash("default", "charge", "k");
  NewExecution call = item();
  call.queue.name = std::string(guard_queue);
  call.kind = Kind::guard;
  call.attempt_timeout = 30s;
  call.identity = IdentityClaim{.hash = identity, .key = "k", .reuse = Reuse::reject, .dedup_window = 0s};
  call.born_running = BornRunning{.session = session.id, .claim_number = 1};
  NewExecution first = call;  // creates the queue
  first.id = base::new_uuid7();
  first.identity->hash = guard_identity_hash("default", "charge", "first");
  static_cast<void>(store->admit({&first, 1}));
  Trace trace(*store);

  const Admission admission = store->admit({&call, 1}).at(0);
  EXPECT_THAT(trace.taken(),
              ElementsAre("BEGIN", "SELECT queues", "SELECT sessions", "INSERT identities", "INSERT live", "COMMIT"));
  const Finish outcome{.id = admission.id, .fence = admission.fence.value_or(0), .keep = Keep{}};
  EXPECT_EQ(store->finish({&outcome, 1}).at(0), FinishVerdict::accepted);
  EXPECT_THAT(trace.taken(), ElementsAre("BEGIN", "SELECT live", "SELECT queues", "SELECT sessions", "INSERT history",
                                         "DELETE live", "INSERT expiries", "COMMIT"));
  EXPECT_EQ(store->guard_outcome(identity)->status, Status::completed);
  EXPECT_TRUE(trace.taken().empty()) << "a repeated call reads beside the writer";
}

TEST_F(SqliteCost, a_tick_is_one_look_and_one_update_beside_its_runs) {
  const auto store = open();
  admit(*store);
  const auto apply = [&](const ActivityChange& change) { return store->change_activities({&change, 1}).at(0); };
  ActivityChange made{.id = "daily", .revision = 0};
  made.definition = {.json = "{}"};
  made.action = "activity.apply";
  Trace trace(*store);

  const std::int64_t revision = apply(made).revision;
  EXPECT_THAT(trace.taken(), ElementsAre("BEGIN", "SELECT activities", "INSERT activity_versions",
                                         "INSERT activity_generations", "INSERT activities", "INSERT audit", "COMMIT"));

  ActivityChange tick{.id = "daily", .revision = revision};
  tick.schedule = {.cursor = store->now(), .next_due = store->now() + 1h};
  for (const char* key : {"1", "2"}) {
    NewExecution& run = tick.admit.emplace_back(item());
    run.identity = IdentityClaim{.hash = activity_identity_hash("default", "daily", key), .key = key};
    run.parent = activity_uuid("default", "daily");
  }
  EXPECT_TRUE(apply(tick).applied);
  EXPECT_THAT(trace.taken(), ElementsAre("BEGIN", "SELECT activities",                         //
                                         "SELECT queues", "INSERT identities", "INSERT live",  //
                                         "INSERT identities", "INSERT live",                   //
                                         "UPDATE activities", "COMMIT"));
  EXPECT_FALSE(apply(tick).applied);
  EXPECT_THAT(trace.taken(), ElementsAre("BEGIN", "SELECT activities", "COMMIT")) << "another ticker was first";
}

}  // namespace
}  // namespace hapax::store
