// The catalogue of tasks, queue settings and their audit lines.
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class CatalogueConformance : public Conformance {
 protected:
  static TaskEntry entry(const std::string& name, const std::string& definition,
                         const std::string& namespace_name = "default") {
    return {.namespace_name = namespace_name, .name = name, .definition = definition, .origin = "code"};
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

// Once a declaration is acknowledged to one process, it counts for every later request of any process.
class CatalogueVersionConformance : public CatalogueConformance {
 protected:
  // Expects requests made under `version` of the catalogue to be refused, whichever statement admits them.
  void expect_all_refused(std::int32_t version) {
    for (const auto& [name, items] : ways()) {
      SCOPED_TRACE(name);
      std::vector<NewExecution> old = items;
      for (NewExecution& item : old) { item.catalogue_version = version; }
      EXPECT_THROW((void)second()->admit(old), store::CatalogueChanged);
      EXPECT_THROW((void)second()->try_admit(old), store::CatalogueChanged);
      old.front().catalogue_version = version + 1;
      if (old.size() > 1) { EXPECT_THROW((void)store().admit(old), store::CatalogueChanged) << "the oldest counts"; }
      std::vector<Uuid> ids;
      for (const NewExecution& item : old) { ids.push_back(item.id); }
      for (const std::optional<Outcome>& outcome : store().outcomes(ids)) {
        ASSERT_FALSE(outcome) << "nothing was admitted";
      }
    }
  }

  void expect_all_admitted(std::int32_t version) {
    for (const auto& [name, items] : ways()) {
      SCOPED_TRACE(name);
      std::vector<NewExecution> now = items;
      for (NewExecution& item : now) { item.catalogue_version = version; }
      for (const Admission& admission : second()->admit(now)) { ASSERT_TRUE(admission.created()); }
    }
  }

 private:
  // One batch for each admission statement of a store: one or many (COPY), with and without identities and labels.
  std::vector<std::pair<std::string, std::vector<NewExecution>>> ways() {
    const auto many = [](int count, auto make) {
      std::vector<NewExecution> items;
      for (int i = 0; i < count; ++i) { items.push_back(make()); }
      return items;
    };
    const auto key = [this] { return keyed("k" + std::to_string(++keys_)); };
    const auto labelled = [] {
      NewExecution item = request();
      item.labels.actor = "ann";
      return item;
    };
    const auto delayed = [] {
      NewExecution item = request();
      item.delay = 1min;
      return item;
    };
    std::vector<std::pair<std::string, std::vector<NewExecution>>> all{{"plain", many(1, [] { return request(); })},
                                                                       {"some", many(3, [] { return request(); })},
                                                                       {"labelled", many(2, labelled)},
                                                                       {"delayed", many(2, delayed)},
                                                                       {"keyed", many(1, key)},
                                                                       {"some keyed", many(12, key)},
                                                                       {"many", many(600, [] { return request(); })},
                                                                       {"many keyed", many(600, key)}};
    std::vector<NewExecution> mixed = many(2, key);
    mixed.push_back(delayed());
    mixed.push_back(labelled());
    all.emplace_back("mixed", std::move(mixed));
    return all;
  }

  int keys_ = 0;
};

TEST_F(CatalogueVersionConformance, EachChangeRaisesTheVersionOfItsNamespaceAlone) {
  EXPECT_EQ(store().catalogue("default").version, 0);
  (void)store().declare_task(entry("pay", "{}"));
  EXPECT_EQ(second()->catalogue("default").version, 1);
  (void)store().declare_task(entry("pay", "{}"));
  EXPECT_EQ(store().catalogue("default").version, 1) << "it was there";
  (void)store().put_task(entry("pay", R"({"queue":"b"})"), "ann");
  (void)store().put_task(entry("pay", R"({"queue":"b"})"), "ann");
  EXPECT_EQ(store().catalogue("default").version, 2);
  (void)store().put_setting("default", {.name = "identity.default", .value = "contextual"}, "ann");
  (void)store().put_setting("default", {.name = "identity.default", .value = "strict"}, "ann");
  EXPECT_EQ(store().catalogue("default").version, 4);
  (void)store().put_setting("default", {.name = "identity.default", .value = ""}, "ann");
  (void)store().remove_task("default", "pay", "ann");
  EXPECT_EQ(second()->catalogue("default").version, 6) << "and stays when nothing is left";
  EXPECT_EQ(store().catalogue("shop").version, 0);
}

TEST_F(CatalogueVersionConformance, ARequestMadeByAnOlderCatalogueIsRefusedWholeAndANewerOneIsTaken) {
  expect_all_admitted(0);
  (void)store().declare_task(entry("pay", R"({"identity_strategy":"strict"})"));
  expect_all_refused(0);
  expect_all_admitted(1);
  expect_all_admitted(2);
  (void)store().remove_task("default", "pay", "ann");
  expect_all_refused(1);
}

TEST_F(CatalogueVersionConformance, ARequestThatNoCatalogueDecidesAboutAndAnotherNamespaceAreTaken) {
  (void)store().declare_task(entry("pay", "{}"));
  EXPECT_TRUE(admit(request()).created());
  EXPECT_TRUE(admit(keyed("a")).created());
  NewExecution elsewhere = request();
  elsewhere.queue.namespace_name = "shop";
  elsewhere.catalogue_version = 0;
  EXPECT_TRUE(admit(elsewhere).created());
}

// Also a keyed request whose identity is held is refused, because the new catalogue decides its answer.
TEST_F(CatalogueVersionConformance, ADuplicateRequestMadeByAnOlderCatalogueIsRefusedAsWell) {
  (void)admit_id(keyed("a"));
  (void)store().declare_task(entry("pay", "{}"));
  NewExecution again = keyed("a");
  again.catalogue_version = 0;
  EXPECT_THROW((void)admit(again), store::CatalogueChanged);
  again.identity->on_conflict = OnConflict::terminate_existing;
  EXPECT_THROW((void)admit(again), store::CatalogueChanged);
  again.catalogue_version = 1;
  EXPECT_TRUE(admit(again).created());
}

}  // namespace

}  // namespace hapax::conformance
