// Operators' calls behind App::admin(), on every store: their effects, their refusals, and whom they wake.
#include "api/stores.hpp"
#include "store/open.hpp"

namespace hapax {
namespace {

using namespace std::chrono_literals;

const Task<std::string> admin_say{"say"};

class AdminTest : public OnStore {};
INSTANTIATE_TEST_SUITE_P(Stores, AdminTest, all_stores, [](const auto& tested) { return tested.param; });

std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) { return error.name() + ": " + error.what(); }
  return "was done";
}

// A failed execution, which is a dead letter.
Uuid fail_one(App& app, const EnqueueOptions& options = {}) {
  const auto handle = app.enqueue(admin_say, "x", options);
  auto worker = app.work({.queues = {options.queue.value_or("default")}});
  EXPECT_EQ(handle.wait(), Status::failed);
  return handle.id();
}

TEST_P(AdminTest, ActsOnMissingThingsAreRefusedInTheWordsOfTheServer) {
  auto app = open();
  (void)app.enqueue(admin_say, "x", {.queue = "payments"});
  auto admin = app.admin();
  const std::string no_queue = "NotFound: no queue 'paymnts' in namespace 'default'; did you mean 'payments'?";
  EXPECT_EQ(refusal_of([&] { (void)admin.purge("paymnts"); }), no_queue);
  EXPECT_EQ(refusal_of([&] { (void)admin.move("paymnts", "payments"); }), no_queue);
  EXPECT_EQ(refusal_of([&] { (void)admin.move("payments", "paymnts"); }), no_queue);
  EXPECT_EQ(refusal_of([&] { (void)admin.cancel_all({.queue = "paymnts"}); }), no_queue);
  EXPECT_EQ(refusal_of([&] { (void)admin.retry_all({.queue = "paymnts"}); }), no_queue);
  EXPECT_EQ(refusal_of([&] { (void)admin.move("payments", "payments"); }),
            "InvalidArgument: to: is the queue to move from; expected another");
  EXPECT_EQ(refusal_of([&] { (void)admin.move("payments", "other", {.limit = 0, .create = true}); }),
            "InvalidArgument: limit: 0 is out of range; expected 1 or more");
  const Uuid id = base::new_uuid7();
  const std::string no_execution = "NotFound: no execution " + id.to_string() + " in namespace 'default'";
  EXPECT_EQ(refusal_of([&] { (void)app.retry(id); }), no_execution);
  EXPECT_EQ(refusal_of([&] { (void)app.explain(id); }), no_execution);
  EXPECT_EQ(refusal_of([&] { (void)app.find_any(id); }), no_execution);
  EXPECT_EQ(refusal_of([&] { (void)app.timeline(id); }), no_execution);
  EXPECT_EQ(refusal_of([&] {
              (void)admin.annotate({&id, 1}, std::string(3000, 'x'));
            }),
            "InvalidArgument: note: has 3000 bytes; expected at most 2048");
}

// A program may give any error's text as the reason.
TEST_P(AdminTest, AReasonOfAnyLengthAndAnyBytesCancels) {
  auto app = open();
  for (const std::string& reason : {std::string(5000, 'x'), std::string("\xff")}) {
    const auto handle = app.enqueue(admin_say, "x");
    EXPECT_EQ(app.cancel(handle.id(), reason), CancelAnswer::cancelled);
    EXPECT_EQ(handle.status(), Status::cancelled);
  }
}

TEST_P(AdminTest, ARetryThatCannotBeIsRefusedInTheWordsOfTheServer) {
  auto app = open();
  app.handle(admin_say, [](const std::string&) { throw Permanent("no"); });
  const auto pending = app.enqueue(admin_say, "x", {.delay = 1h});
  EXPECT_EQ(refusal_of([&] { (void)app.retry(pending.id()); }),
            "WrongStatus: execution " + pending.id().to_string() + " is pending, so there is nothing to retry yet");
  const Uuid failed = fail_one(app, {.queue = "other"});
  const auto again = app.retry(failed);
  EXPECT_EQ(again.run(), 2);
  EXPECT_EQ(refusal_of([&] { (void)app.retry(failed); }), "TaskAlreadyExists: execution " + failed.to_string() +
                                                              " was retried already, as " + again.id().to_string());
}

TEST_P(AdminTest, DeadLettersAreAnnotatedAndDiscarded) {
  auto app = open();
  app.handle(admin_say, [](const std::string&) { throw Permanent("no"); });
  const Uuid dead = fail_one(app);
  const Uuid none = base::new_uuid7();
  const std::vector<Uuid> ids{dead, none};
  EXPECT_EQ(app.admin().annotate(ids, "asked the bank"), 1);
  EXPECT_EQ(app.get(dead)->note, "asked the bank");
  EXPECT_EQ(app.admin().discard(ids), 1);
  EXPECT_EQ(app.admin().discard(ids), 0);
  EXPECT_FALSE(app.get(dead)->dead);
}

TEST_P(AdminTest, AMoveStopsAtItsLimit) {
  auto app = open();
  for (int i = 0; i < 3; ++i) { (void)app.enqueue(admin_say, "x", {.queue = "from"}); }
  EXPECT_EQ(app.admin().move("from", "to", {.limit = 2, .create = true}), 2U);
  EXPECT_EQ(app.admin().move("from", "to"), 1U);
  EXPECT_EQ(app.admin().cancel_all({.queue = "to"}), 3U);
}

TEST_P(AdminTest, TheAuditLogNamesTheActor) {
  auto app = hapax::open(url_, {.migrate = true, .actor = "billing"});
  const auto handle = app.enqueue(admin_say, "x", {.queue = "payments"});
  (void)app.cancel(handle.id());
  app.pause("payments");
  const auto lines = app.admin().audit();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].action, "queue.configure");
  EXPECT_EQ(lines[0].subject, "payments");
  EXPECT_EQ(lines[1].action, "execution.cancel");
  EXPECT_EQ(lines[1].subject, handle.id().to_string());
  EXPECT_EQ(lines[1].actor, "billing");
  EXPECT_EQ(app.admin().audit({.action = "execution.cancel"}).size(), 1U);
  EXPECT_EQ(refusal_of([&] { (void)app.admin().audit({.limit = 0}); }),
            "InvalidArgument: limit: 0 is out of range; expected 1 to 1000");
}

TEST_P(AdminTest, TokensAreMadeListedAndRevoked) {
  auto app = open();
  auto admin = app.admin();
  const CreatedToken made = admin.create_token({.scopes = "enqueue,read", .name = "billing"});
  EXPECT_TRUE(made.secret.starts_with("hapax_"));
  EXPECT_EQ(made.token.scopes, (std::vector<std::string>{"enqueue", "read"}));
  ASSERT_TRUE(made.token.expires_at.has_value());
  EXPECT_EQ(*made.token.expires_at - made.token.created_at, 24h * 90);
  ASSERT_EQ(admin.tokens().size(), 1U);
  EXPECT_EQ(admin.tokens()[0].id, made.token.id);
  EXPECT_EQ(refusal_of([&] { (void)admin.create_token({.scopes = "everything"}); }).substr(0, 23),
            "InvalidArgument: scopes");
  EXPECT_EQ(refusal_of([&] { (void)admin.create_token({.scopes = "read", .expires_in = 0s}); }).substr(0, 27),
            "InvalidArgument: expires_in");
  EXPECT_EQ(admin.revoke_token("billing"), made.token.id);
  EXPECT_TRUE(admin.tokens()[0].revoked_at.has_value());
  EXPECT_EQ(refusal_of([&] { (void)admin.revoke_token(made.token.id.to_string()); }),
            "NotFound: token " + made.token.id.to_string() + " was revoked already");
  const CreatedToken first = admin.create_token({.scopes = "read", .name = "twin", .expires_in = std::nullopt});
  EXPECT_FALSE(first.token.expires_at.has_value());
  (void)admin.create_token({.scopes = "read", .name = "twin"});
  EXPECT_EQ(refusal_of([&] { (void)admin.revoke_token("twin"); }),
            "UsageError: 2 good tokens are named 'twin'; name one by its id (hapax token list)");
}

TEST_P(AdminTest, OperatorsCallsInsideATransactionAreRefused) {
  if (GetParam() == "memory") { return; }  // lends no transaction
  auto app = open();
  (void)app.enqueue(admin_say, "x");
  const Uuid id = base::new_uuid7();
  auto admin = app.admin();
  const std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"cancel_all", [&] { (void)admin.cancel_all({}); }},
      {"retry_all", [&] { (void)admin.retry_all({}); }},
      {"discard",
       [&] {
         (void)admin.discard({&id, 1});
       }},
      {"annotate",
       [&] {
         (void)admin.annotate({&id, 1}, "x");
       }},
      {"purge", [&] { (void)admin.purge("default"); }},
      {"move", [&] { (void)admin.move("default", "other", {.create = true}); }},
      {"create_token", [&] { (void)admin.create_token({.scopes = "read"}); }},
      {"revoke_token", [&] { (void)admin.revoke_token("x"); }},
      {"configure_queue", [&] { app.pause("default"); }},
      {"apply", [&] { (void)app.apply_activity_json("{}"); }},
      {"pause_activity", [&] { app.pause_activity("x"); }},
      {"resume_activity", [&] { app.resume_activity("x"); }},
      {"remove_activity", [&] { app.remove_activity("x"); }},
      {"trigger_activity", [&] { (void)app.trigger_activity("x"); }},
      {"backfill_activity", [&] { (void)app.backfill_activity("x", Time{}, Time{}); }},
  };
  app.transaction([&](Transaction&) {
    for (const auto& [name, call] : calls) {
      EXPECT_EQ(refusal_of(call),
                "UsageError: " + name + " inside app.transaction would wait for itself; use enqueue_in(tx, …)");
    }
  });
}

// Another process's view of the store: told() says whether an act was announced to it.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string& url) : store_(store::open(url)), listener_(store_->listen()) {}
  // Lets the hints of earlier changes pass.
  void forget() {
    for (int hints = 0; hints < 100 && listener_->wait(200ms); ++hints) {}
  }
  [[nodiscard]] bool told() { return listener_->wait(10s); }

 private:
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Listener> listener_;
};

TEST_P(AdminTest, EachActWakesWorkersOfOtherProcesses) {
  if (GetParam() == "memory") { return; }  // one process
  auto app = open();
  app.handle(admin_say, [](const std::string&) { throw Permanent("no"); });
  const Uuid dead = fail_one(app);
  const Uuid dead_too = fail_one(app);
  (void)dead_too;
  OtherProcess other(url_);
  const auto expect_told = [&](const char* act, const std::function<void()>& call) {
    other.forget();
    call();
    EXPECT_TRUE(other.told()) << act;
  };
  expect_told("retry", [&] { (void)app.retry(dead); });
  expect_told("retry_all", [&] { EXPECT_EQ(app.admin().retry_all({}), 1U); });
  expect_told("configure_queue", [&] { app.configure_queue("default", {.concurrency = std::optional(2)}); });
  expect_told("resume", [&] { app.resume("default"); });
  expect_told("move", [&] { EXPECT_EQ(app.admin().move("default", "third", {.create = true}), 2U); });
  expect_told("cancel_all", [&] { EXPECT_EQ(app.admin().cancel_all({.queue = "third"}), 2U); });
  const auto delayed = app.enqueue(admin_say, "x", {.delay = 1h});
  expect_told("cancel", [&] { (void)app.cancel(delayed.id()); });
}

}  // namespace
}  // namespace hapax
