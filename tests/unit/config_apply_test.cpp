#include "app/config/apply.hpp"

#include "store/open.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hapax::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const std::string namespace_name = "default";
const std::string actor = "a test";

class Applying : public testing::Test {
 protected:
  std::vector<std::string> apply_text(std::string_view text) {
    return told(apply(*store_, namespace_name, parsed(text), actor));
  }
  std::vector<std::string> start_with(std::string_view text) {
    return told(apply_at_start(*store_, namespace_name, parsed(text), actor));
  }
  std::vector<std::string> planned(std::string_view text) { return told(plan(*store_, namespace_name, parsed(text))); }

  model::QueueSettings queue(const std::string& name) {
    for (const model::QueueInfo& info : store_->queues(namespace_name)) {
      if (info.queue.name == name) { return info.settings; }
    }
    ADD_FAILURE() << "no queue " << name;
    return {};
  }
  std::string setting(std::string_view name) {
    for (const model::Setting& one : store_->catalogue(namespace_name).settings) {
      if (one.name == name) { return one.value; }
    }
    return "";
  }
  // "action subject detail", newest first, without the lines of the configuration's digest.
  std::vector<std::string> audit() {
    std::vector<std::string> lines;
    for (const model::AuditLine& line : store_->audit(namespace_name, 100)) {
      if (line.subject != applied_setting) { lines.push_back(line.action + " " + line.subject + " " + line.detail); }
    }
    return lines;
  }

  std::unique_ptr<store::Store> store_ = store::open("memory:");

 private:
  static Config parsed(std::string_view text) { return parse(text, "hapax.toml"); }
  static std::vector<std::string> told(const std::vector<Change>& changes) {
    std::vector<std::string> lines;
    for (const Change& change : changes) {
      lines.push_back(change.subject + ": " + change.from + " -> " + change.to +
                      (change.note.empty() ? "" : " (" + change.note + ")"));
    }
    return lines;
  }
};

TEST_F(Applying, WritesWhatTheFileSays) {
  EXPECT_THAT(
      apply_text(R"([queues.payments]
retention = "30d"
rate_limit = "100/sec"
[identity]
default = "always_unique"
[cleanup]
interval = "15m"
[tasks.report]
max_attempts = 6
)"),
      UnorderedElementsAre("queues.payments.retention: default -> 30d", "queues.payments.rate_limit: none -> 100/sec",
                           "tasks.report:  -> catalogued", "tasks.report.max_attempts:  -> 6",
                           "identity.default:  -> always_unique", "cleanup.interval:  -> 15m"));
  EXPECT_EQ(queue("payments").retention, Duration(std::chrono::days(30)));
  EXPECT_EQ(queue("payments").limits.rate, (RateLimit{.count = 100, .per = 1s}));
  EXPECT_EQ(setting("identity.default"), "always_unique");
  EXPECT_EQ(setting("cleanup.interval"), "15m");
  const model::StoredCatalogue stored = store_->catalogue(namespace_name);
  ASSERT_THAT(stored.tasks, SizeIs(1));
  EXPECT_EQ(stored.tasks[0].origin, "file");
  EXPECT_EQ(stored.tasks[0].definition, R"({"max_attempts":6})");
}

TEST_F(Applying, OnlyWhatChangesIsWrittenAndAudited) {
  (void)apply_text("[queues.q]\nretention = \"30d\"\nconcurrency = 5\n[tasks.t]\n");
  const std::size_t before = audit().size();
  EXPECT_THAT(apply_text("[queues.q]\nretention = \"30d\"\nconcurrency = 5\n[tasks.t]\n"), IsEmpty());
  EXPECT_THAT(audit(), SizeIs(before));
  EXPECT_THAT(apply_text("[queues.q]\nretention = \"30d\"\nconcurrency = 6\n[tasks.t]\n"),
              ElementsAre("queues.q.concurrency: 5 -> 6"));
  EXPECT_THAT(audit(), SizeIs(before + 1));
  EXPECT_EQ(audit()[0], R"(queue.configure q {"concurrency":6})");
  EXPECT_EQ(store_->audit(namespace_name, 100)[1].actor, actor);
}

TEST_F(Applying, WhatTheFileDoesNotMentionIsLeftAlone) {
  (void)apply_text("[queues.q]\nretention = \"30d\"\nconcurrency = 5\n[queues.other]\npaused = true\n[tasks.t]\n");
  (void)apply_text("[queues.q]\nretention = \"10d\"\n");
  EXPECT_EQ(queue("q").limits.concurrency, 5);
  EXPECT_TRUE(queue("other").paused);
  EXPECT_THAT(store_->catalogue(namespace_name).tasks, SizeIs(1));
}

TEST_F(Applying, AnAbsentWordTakesASettingAway) {
  (void)apply_text("[queues.q]\nretention = \"30d\"\nrate_limit = \"5/min burst 2\"\n");
  EXPECT_THAT(apply_text("[queues.q]\nretention = \"default\"\nrate_limit = \"none\"\n"),
              ElementsAre("queues.q.retention: 30d -> default", "queues.q.rate_limit: 5/min burst 2 -> none"));
  EXPECT_FALSE(queue("q").retention);
  EXPECT_FALSE(queue("q").limits.rate);
}

TEST_F(Applying, APlanChangesNothing) {
  EXPECT_THAT(planned("[queues.q]\nretention = \"30d\"\n[tasks.t]\n"),
              ElementsAre("queues.q.retention: default -> 30d", "tasks.t:  -> catalogued"));
  EXPECT_THAT(store_->queues(namespace_name), IsEmpty());
  EXPECT_THAT(store_->catalogue(namespace_name).tasks, IsEmpty());
  EXPECT_THAT(store_->audit(namespace_name, 10), IsEmpty());
}

TEST_F(Applying, ATasksTableIsTheWholeOfItsEntry) {
  (void)apply_text("[tasks.t]\nmax_attempts = 6\nqueue = \"q\"\n");
  EXPECT_THAT(apply_text("[tasks.t]\nmax_attempts = 7\n"),
              UnorderedElementsAre("tasks.t.max_attempts: 6 -> 7", "tasks.t.queue: q -> "));
}

TEST_F(Applying, TheFileGoesOverADeclarationInCodeAndTheAuditSaysSo) {
  (void)store_->declare_task({.namespace_name = namespace_name,
                              .name = "t",
                              .definition = R"({"identity_strategy":"caller_provided"})",
                              .origin = "code"});
  const std::vector<std::string> changes = apply_text("[tasks.t]\nidentity_strategy = \"strict\"\n");
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_THAT(changes[0], HasSubstr("tasks.t.identity_strategy: caller_provided -> strict (over a declaration in code: "
                                    "identity_strategy is caller_provided there and strict here)"));
  EXPECT_THAT(store_->audit(namespace_name, 10)[1].actor, HasSubstr("a test, over a declaration in code"));
  EXPECT_EQ(store_->catalogue(namespace_name).tasks[0].origin, "file");
}

TEST_F(Applying, AtStartAFileIsAppliedOnceSoThatWhatPeopleSetSinceStays) {
  const std::string file = "[queues.q]\nconcurrency = 5\n";
  EXPECT_THAT(start_with(file), SizeIs(1));
  store_->configure_queue({.namespace_name = namespace_name, .name = "q"}, {.concurrency = std::optional<int>(9)});
  EXPECT_THAT(start_with(file), IsEmpty());
  EXPECT_THAT(start_with("# a comment\n[queues.q]\nconcurrency   = 5 # same\n"), IsEmpty());
  EXPECT_EQ(queue("q").limits.concurrency, 9);
  EXPECT_THAT(start_with("[queues.q]\nconcurrency = 6\n"), ElementsAre("queues.q.concurrency: 9 -> 6"));
  EXPECT_THAT(start_with(file), ElementsAre("queues.q.concurrency: 6 -> 5"));
}

TEST_F(Applying, ByCommandIsAlwaysDone) {
  const std::string file = "[queues.q]\nconcurrency = 5\n";
  (void)start_with(file);
  store_->configure_queue({.namespace_name = namespace_name, .name = "q"}, {.concurrency = std::optional<int>(9)});
  EXPECT_THAT(apply_text(file), ElementsAre("queues.q.concurrency: 9 -> 5"));
}

TEST_F(Applying, AStartWithNothingToApplyWritesNothing) {
  EXPECT_THAT(start_with("[store]\nurl = \"memory:\"\n[worker]\nlease = \"1m\"\n"), IsEmpty());
  EXPECT_EQ(setting(applied_setting), "");
  EXPECT_THAT(store_->audit(namespace_name, 10), IsEmpty());
}

TEST_F(Applying, NamespacesAreApart) {
  (void)apply_at_start(*store_, "one", parse("[queues.q]\nconcurrency = 5\n", "f"), actor);
  EXPECT_THAT(apply_at_start(*store_, "two", parse("[queues.q]\nconcurrency = 5\n", "f"), actor), SizeIs(1));
  EXPECT_THAT(store_->queues(namespace_name), IsEmpty());
}

}  // namespace
}  // namespace hapax::config
