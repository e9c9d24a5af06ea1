// The encrypting store: what the database contains, adding and removing keys, and wrong keys.
#include <hapax/error.hpp>

#include "base/base64.hpp"
#include "base/secret_file.hpp"
#include "base/uuid7.hpp"
#include "model/identity.hpp"
#include "model/unreadable.hpp"
#include "store/encrypted/envelope.hpp"
#include "store/open.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hapax::store {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* secret = "4111-canary-1111";

class EncryptedStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "hapax_encrypted_" + base::new_uuid7().to_string();
    std::filesystem::create_directory(folder_);
    url_ = "sqlite:" + folder_ + "/store.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string key_file(const std::string& name, const std::string& keys) {
    std::string lines;
    for (const char filling : keys) {
      lines += std::string("k") + filling + " " + base::to_base64(std::string(32, filling)) + "\n";
    }
    const std::string path = folder_ + "/" + name;
    base::append_secret_line(path, lines);
    return path;
  }

  std::unique_ptr<Store> open_with(const std::string& keys) { return open(url_, {.encryption_key_file = keys}); }

  static Uuid enqueue(Store& store, const std::string& input = R"({"card":"4111-canary-1111"})") {
    NewExecution item;
    item.id = base::new_uuid7();
    item.task = "pay";
    item.input = input;
    EXPECT_TRUE(store.admit({&item, 1}).at(0).created());
    return item.id;
  }

  static std::vector<Claim> claim(Store& store) {
    NewSession session;
    session.id = base::new_uuid7();
    store.open_session(session);
    return store
        .claim({.session = session.id, .claim_number = 1, .queues = {{}}, .tasks = {"pay", "order"}, .limit = 10})
        .claims;
  }

  // All bytes of the store's files.
  std::string on_disk() const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with("store.db")) {
        std::ifstream file(entry.path(), std::ios::binary);
        all.append(std::istreambuf_iterator<char>(file), {});
      }
    }
    return all;
  }

  std::string folder_;
  std::string url_;
};

TEST_F(EncryptedStoreTest, NoPayloadIsInTheDatabase) {
  const std::string text = std::string("\"") + secret + "\"";
  {
    const auto store = open_with(key_file("keys", "a"));
    (void)enqueue(*store);
    (void)enqueue(*store);
    NewExecution flow;
    flow.id = base::new_uuid7();
    flow.task = "order";
    flow.kind = Kind::workflow;
    flow.input = text;
    EXPECT_TRUE(store->admit({&flow, 1}).at(0).created());
    std::vector<Claim> claims = claim(*store);
    ASSERT_EQ(claims.size(), 3U);
    const Signal signal{.execution = flow.id, .name = "approve", .data = text};
    EXPECT_EQ(store->signal({&signal, 1}).at(0).verdict, SignalVerdict::accepted);
    const JournalEntry entry{.execution = claims[0].id, .fence = claims[0].fence, .name = "step", .data = text};
    EXPECT_EQ(store->journal_append({&entry, 1}).at(0), FinishVerdict::accepted);
    std::vector<Finish> finishes;
    finishes.push_back({.id = claims[0].id, .fence = claims[0].fence, .result = text});
    finishes.push_back({.id = claims[1].id,
                        .fence = claims[1].fence,
                        .kind = FinishKind::failed,
                        .error = ErrorInfo{.type = "Declined", .message = secret, .detail = secret}});
    for (const FinishVerdict verdict : store->finish(finishes)) { EXPECT_EQ(verdict, FinishVerdict::accepted); }
    EXPECT_EQ(store->get(claims[0].id)->result, text);
    EXPECT_EQ(store->get(claims[1].id)->error->message, secret);
    EXPECT_EQ(store->get(claims[1].id)->error->detail, secret);
    EXPECT_EQ(store->journal_read(claims[0].id).at(0).data, text);
    const HistoryRequest history{.execution = flow.id};
    EXPECT_EQ(store->histories({&history, 1}).at(0).events.at(0).data, text);
  }
  const std::string bytes = on_disk();
  EXPECT_GT(bytes.size(), 4096U);
  EXPECT_EQ(bytes.find(secret), std::string::npos);
  EXPECT_NE(bytes.find("Declined"), std::string::npos) << "an error's type is not hidden";
}

TEST_F(EncryptedStoreTest, WithoutItsKeyTheStoreIsNotOpened) {
  const std::string keys = key_file("keys", "a");
  const Uuid id = enqueue(*open_with(keys));
  EXPECT_THROW((void)open(url_), ConfigurationError);
  EXPECT_THROW((void)open_with(key_file("other", "b")), ConfigurationError);
  // The right key name with the wrong key.
  base::append_secret_line(folder_ + "/wrong", "ka " + base::to_base64(std::string(32, 'z')));
  EXPECT_THROW((void)open_with(folder_ + "/wrong"), ConfigurationError);
  EXPECT_THAT(open_with(keys)->get(id)->input, HasSubstr(secret)) << "nothing was lost";
}

TEST_F(EncryptedStoreTest, WhatWasThereBeforeIsReadAsItIs) {
  const Uuid before = enqueue(*open(url_));
  const auto store = open_with(key_file("keys", "a"));
  EXPECT_THAT(store->get(before)->input, HasSubstr(secret));
  EXPECT_EQ(claim(*store).size(), 1U);
}

TEST_F(EncryptedStoreTest, AKeyIsChangedWhileThereIsWork) {
  const Uuid first = enqueue(*open_with(key_file("first", "a")));
  const auto both = open_with(key_file("both", "ab"));
  const Uuid second = enqueue(*both);
  EXPECT_THAT(both->get(first)->input, HasSubstr(secret));
  // A process with only the old key gets an error; the new key alone reads what it has written.
  EXPECT_THROW((void)open_with(folder_ + "/first"), ConfigurationError);
  const auto only_new = open_with(key_file("new", "b"));
  EXPECT_THAT(only_new->get(second)->input, HasSubstr(secret));
  const Execution found = *only_new->get(first);
  EXPECT_TRUE(model::is_unreadable(found));
  EXPECT_FALSE(model::is_unreadable(*only_new->get(second)));
  try {
    model::check_readable(found);
    ADD_FAILURE();
  } catch (const DecryptionFailed& error) {
    EXPECT_THAT(error.what(), HasSubstr(first.to_string()));
    EXPECT_THAT(error.what(), HasSubstr("'ka'"));
    EXPECT_THAT(error.what(), Not(HasSubstr(secret)));
  }
}

TEST_F(EncryptedStoreTest, WhatDoesNotOpenIsMarkedInAListAndCanBeActedUpon) {
  const Uuid old = enqueue(*open_with(key_file("first", "a")));
  const Uuid fresh = enqueue(*open_with(key_file("both", "ab")));
  const auto only_new = open_with(key_file("new", "b"));
  const std::vector<Execution> all = only_new->list({});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, fresh);
  EXPECT_THAT(all[0].input, HasSubstr(secret));
  EXPECT_EQ(all[1].id, old);
  EXPECT_EQ(all[1].input, "");
  ASSERT_TRUE(all[1].error);
  EXPECT_EQ(all[1].error->type, "DecryptionFailed");
  EXPECT_EQ(only_new->cancel({&old, 1}, "no").at(0).verdict, CancelVerdict::cancelled);
  EXPECT_EQ(only_new->get(old)->status, Status::cancelled);
}

TEST_F(EncryptedStoreTest, AHolderWhoseResultDoesNotOpenIsNotInItsNeighboursWay) {
  NewExecution item;
  item.id = base::new_uuid7();
  item.task = "pay";
  item.identity.emplace().key = "k";
  item.identity->hash.fill(7);
  {
    const auto store = open_with(key_file("first", "a"));
    ASSERT_TRUE(store->admit({&item, 1}).at(0).created());
    const Claim held = claim(*store).at(0);
    const Finish done{.id = held.id, .fence = held.fence, .result = "\"paid\""};
    ASSERT_EQ(store->finish({&done, 1}).at(0), FinishVerdict::accepted);
  }
  (void)open_with(key_file("both", "ab"));
  const auto only_new = open_with(key_file("new", "b"));
  std::vector<NewExecution> two(2, item);
  for (NewExecution& one : two) { one.id = base::new_uuid7(); }
  two[1].identity.reset();
  const std::vector<Admission> answers = only_new->admit(two);
  EXPECT_EQ(answers.at(0).id, item.id);
  EXPECT_FALSE(answers.at(0).result);
  EXPECT_TRUE(answers.at(0).expired);
  EXPECT_TRUE(answers.at(1).created());
}

TEST_F(EncryptedStoreTest, AnActivityWhoseLastResultDoesNotOpenIsDueLikeTheOthers) {
  const auto make = [](Store& store, const std::string& id) {
    ActivityChange change;
    change.id = id;
    change.revision = 0;
    change.definition = {.json = "{}", .kind = ActivityKind::cron};
    const Time now = store.now();
    change.schedule = {.cursor = now, .next_due = now - std::chrono::seconds(1)};
    ASSERT_TRUE(store.change_activities({&change, 1}).at(0).applied);
  };
  {
    const auto store = open_with(key_file("first", "a"));
    make(*store, "old");
    make(*store, "other");
    NewExecution run;
    run.id = base::new_uuid7();
    run.task = "pay";
    run.parent = model::activity_uuid("default", "old");
    ASSERT_TRUE(store->admit({&run, 1}).at(0).created());
    const Claim held = claim(*store).at(0);
    const Finish done{.id = held.id, .fence = held.fence, .result = "{\"rows\":1}"};
    ASSERT_EQ(store->finish({&done, 1}).at(0), FinishVerdict::accepted);
    EXPECT_TRUE(store->due_activities(10).due.at(0).last_result || store->due_activities(10).due.at(1).last_result);
  }
  (void)open_with(key_file("both", "ab"));
  const auto only_new = open_with(key_file("new", "b"));
  const std::vector<DueActivity> due = only_new->due_activities(10).due;
  ASSERT_EQ(due.size(), 2U);
  for (const DueActivity& one : due) {
    EXPECT_FALSE(one.last_result);
    EXPECT_EQ(one.state.id == "old", !one.trouble.empty()) << one.trouble;
  }
}

TEST_F(EncryptedStoreTest, AClaimThatDoesNotOpenIsPutBackAndTheOthersAreHandedOut) {
  const Uuid old = enqueue(*open_with(key_file("first", "a")));
  const Uuid fresh = enqueue(*open_with(key_file("both", "ab")));
  const auto only_new = open_with(key_file("new", "b"));
  const std::vector<Claim> claims = claim(*only_new);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].id, fresh);
  const auto both = open_with(folder_ + "/both");
  EXPECT_EQ(both->get(old)->status, Status::pending);
  EXPECT_EQ(both->get(old)->attempt, 0) << "no attempt is spent";
  EXPECT_GT(both->get(old)->run_at, both->now());
}

TEST_F(EncryptedStoreTest, AJournalThatDoesNotOpenIsMarkedAndItsNeighboursAreRead) {
  const auto start = [](Store& store, const std::string& data) {
    NewExecution flow;
    flow.id = base::new_uuid7();
    flow.task = "order";
    flow.kind = Kind::workflow;
    EXPECT_TRUE(store.admit({&flow, 1}).at(0).created());
    const Signal signal{.execution = flow.id, .name = "approve", .data = data};
    EXPECT_EQ(store.signal({&signal, 1}).at(0).verdict, SignalVerdict::accepted);
    return HistoryRequest{.execution = flow.id};
  };
  std::vector<HistoryRequest> requests;
  requests.push_back(start(*open_with(key_file("first", "a")), "\"old\""));
  requests.push_back(start(*open_with(key_file("both", "ab")), "\"new\""));
  const auto only_new = open_with(key_file("new", "b"));

  const std::vector<History> histories = only_new->histories(requests);

  ASSERT_EQ(histories.size(), 2U);
  EXPECT_THAT(histories[0].unreadable, HasSubstr(requests[0].execution.to_string()));
  EXPECT_TRUE(histories[0].events.empty());
  EXPECT_THROW(model::check_readable(histories[0]), DecryptionFailed);
  EXPECT_EQ(histories[1].unreadable, "");
  ASSERT_EQ(histories[1].events.size(), 1U);
  EXPECT_EQ(histories[1].events[0].data, "\"new\"");
}

TEST_F(EncryptedStoreTest, ARetriedRunReadsItsInput) {
  const auto store = open_with(key_file("keys", "a"));
  const Uuid id = enqueue(*store);
  EXPECT_EQ(store->cancel({&id, 1}, "no").at(0).verdict, CancelVerdict::cancelled);
  EXPECT_EQ(store->get(id)->error->message, "no") << "what the store writes itself is plain";
  const RetryRequest again{.id = id, .new_id = base::new_uuid7()};
  EXPECT_EQ(store->retry({&again, 1}).at(0).verdict, RetryVerdict::created);
  EXPECT_THAT(store->get(again.new_id)->input, HasSubstr(secret));
}

TEST_F(EncryptedStoreTest, AKeyFileThatOthersMayReadIsRefused) {
  const std::string keys = key_file("keys", "a");
  ASSERT_EQ(chmod(keys.c_str(), 0640), 0);
  EXPECT_THROW((void)open_with(keys), ConfigurationError);
  EXPECT_THROW((void)open_with(folder_ + "/absent"), ConfigurationError);
}

TEST_F(EncryptedStoreTest, DoctorSaysWhichKeyWrites) {
  bool told = false;
  for (const Finding& finding : open_with(key_file("keys", "ab"))->doctor()) {
    told = told || (finding.subject == "encryption" && finding.detail.find("'kb'") != std::string::npos);
  }
  EXPECT_TRUE(told);
}

}  // namespace

}  // namespace hapax::store
