// The catalogue of tasks, settings and the audit (SPEC I3, C2).
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class CatalogueConformance : public Conformance {
 protected:
  static TaskEntry entry(const std::string& name, const std::string& definition, const std::string& ns = "default") {
    return {.ns = ns, .name = name, .definition = definition, .origin = "code"};
  }
};

TEST_F(CatalogueConformance, ATaskIsDeclaredOnceAndTheFirstDeclarationStands) {
  const auto other = second();
  const TaskEntry first = store().declare_task(entry("pay", R"({"identity_strategy":"strict"})"));
  const TaskEntry again = other->declare_task(entry("pay", R"({"identity_strategy":"always_unique"})"));
  EXPECT_EQ(first.definition, R"({"identity_strategy":"strict"})");
  EXPECT_EQ(again.definition, first.definition);
  EXPECT_EQ(again.origin, "code");
  EXPECT_EQ(again.updated_at, first.updated_at);
  ASSERT_EQ(store().catalogue("default").tasks.size(), 1U);
  EXPECT_EQ(store().catalogue("default").tasks[0].name, "pay");
}

TEST_F(CatalogueConformance, AnEntryIsReplacedAndRemoved) {
  (void)store().declare_task(entry("pay", "{}"));
  advance(1min);
  TaskEntry next = entry("pay", R"({"queue":"payments"})");
  next.origin = "file";
  EXPECT_TRUE(store().put_task(next, "ann"));
  EXPECT_FALSE(store().put_task(next, "ann")) << "it is there just so";
  const StoredCatalogue stored = second()->catalogue("default");
  ASSERT_EQ(stored.tasks.size(), 1U);
  EXPECT_EQ(stored.tasks[0].definition, R"({"queue":"payments"})");
  EXPECT_EQ(stored.tasks[0].origin, "file");
  EXPECT_TRUE(store().remove_task("default", "pay", "ann"));
  EXPECT_FALSE(store().remove_task("default", "pay", "ann"));
  EXPECT_TRUE(store().catalogue("default").tasks.empty());
}

TEST_F(CatalogueConformance, NamespacesHaveCataloguesOfTheirOwn) {
  (void)store().declare_task(entry("pay", "{}", "shop"));
  EXPECT_TRUE(store().put_setting("shop", {.name = "identity.default", .value = "contextual"}, "ann"));
  EXPECT_TRUE(store().catalogue("default").tasks.empty());
  EXPECT_TRUE(store().catalogue("default").settings.empty());
  EXPECT_EQ(store().catalogue("shop").tasks.size(), 1U);
  ASSERT_EQ(store().catalogue("shop").settings.size(), 1U);
  EXPECT_EQ(store().catalogue("shop").settings[0].value, "contextual");
}

TEST_F(CatalogueConformance, ASettingIsChangedAndTakenAway) {
  EXPECT_TRUE(store().put_setting("default", {.name = "identity.default", .value = "strict"}, "ann"));
  EXPECT_FALSE(store().put_setting("default", {.name = "identity.default", .value = "strict"}, "ann"));
  EXPECT_TRUE(store().put_setting("default", {.name = "identity.default", .value = ""}, "ann"));
  EXPECT_FALSE(store().put_setting("default", {.name = "identity.default", .value = ""}, "ann"));
  EXPECT_TRUE(store().catalogue("default").settings.empty());
}

TEST_F(CatalogueConformance, ChangesAreAuditedNewestFirst) {
  (void)store().declare_task(entry("pay", R"({"queue":"a"})"));
  advance(1min);
  (void)store().put_task(entry("pay", R"({"queue":"b"})"), "ann");
  advance(1min);
  store().configure_queue({.name = "payments"}, {.retention = 30min, .concurrency = 5, .actor = "ben"});
  store().configure_queue({.name = "payments"}, {.paused = true});
  advance(1min);
  (void)store().put_setting("default", {.name = "identity.default", .value = "strict"}, "ann");
  advance(1min);
  (void)store().remove_task("default", "pay", "ann");

  const std::vector<AuditLine> lines = store().audit("default", 10);

  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0].action, "task.remove");
  EXPECT_EQ(lines[1].action, "setting");
  EXPECT_EQ(lines[1].subject, "identity.default");
  EXPECT_EQ(lines[1].detail, "strict");
  EXPECT_EQ(lines[2].action, "queue.configure");
  EXPECT_EQ(lines[2].actor, "ben");
  EXPECT_EQ(lines[2].subject, "payments");
  EXPECT_EQ(lines[2].detail, R"({"concurrency":5,"retention":"30m"})");
  EXPECT_EQ(lines[3].action, "task.replace");
  EXPECT_EQ(lines[3].actor, "ann");
  EXPECT_EQ(lines[3].detail, R"({"queue":"b"})");
  EXPECT_EQ(lines[4].action, "task.declare");
  EXPECT_EQ(lines[4].actor, "code");
  EXPECT_GT(lines[0].at, lines[4].at);
  EXPECT_EQ(store().audit("default", 2).size(), 2U);
  EXPECT_TRUE(store().audit("shop", 10).empty());
}

}  // namespace

}  // namespace hapax::conformance
