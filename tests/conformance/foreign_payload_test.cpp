// A payload that one tenant stores never makes another tenant's query, or a read of the views, fail.
#include "conformance/fixture.hpp"

#include <hapax/error.hpp>

#include <libpq-fe.h>
#include <sqlite3.h>

namespace hapax::conformance {

namespace {

// JSON that hapax accepts but that some database type cannot hold or print.
std::vector<std::string> awkward_values() {
  std::string deep(60, '[');
  deep += "1" + std::string(60, ']');
  return {"1e-20000",
          "-1e-999999999999",
          "0." + std::string(3000, '0') + "1",
          "0." + std::string(16'000, '7'),
          R"("\u0000")",
          R"("\\u0000")",
          R"("\ud83e\udd84")",
          R"("\uffff")",
          "18446744073709551615",
          "1e308",
          deep};
}

class ForeignPayloadConformance : public Conformance {
 protected:
  static NewExecution awkward(const std::string& namespace_name, const std::string& value) {
    NewExecution item = request();
    item.queue.namespace_name = namespace_name;
    item.input = R"({"x":)" + value + "}";
    item.labels = {.tags = {"urgent"}, .metadata = R"({"customer":"42","x":)" + value + "}"};
    return item;
  }

  NewExecution plain(const std::string& namespace_name) {
    NewExecution item = request();
    item.queue.namespace_name = namespace_name;
    item.labels = {.tags = {"urgent"}, .metadata = R"({"customer":"42"})"};
    admit_id(item);
    return item;
  }

  // Claims one execution of a namespace and completes it with its input as the result.
  void complete(const std::string& namespace_name) {
    TestWorker one = worker();
    one.queues = {{.namespace_name = namespace_name, .name = "default"}};
    const Claim first = claim(one, 1).at(0);
    EXPECT_EQ(finish(completed(first, first.input)), FinishVerdict::accepted);
  }

  std::vector<Uuid> found_by(const ListQuery& query) {
    std::vector<Uuid> ids;
    for (const Execution& execution : store().list(query)) { ids.push_back(execution.id); }
    return ids;
  }

  void expect_filters_find(const std::string& namespace_name, const Uuid& id) {
    EXPECT_EQ(found_by({.namespace_name = namespace_name, .tag = "urgent"}), std::vector<Uuid>{id});
    EXPECT_EQ(found_by({.namespace_name = namespace_name, .metadata = {{.key = "customer", .value = "42"}}}),
              std::vector<Uuid>{id});
  }

  // Writes to the tables directly, as a restored backup or a manual UPDATE would.
  void spoil(const std::string& assignment) {
    if (url().starts_with("sqlite:")) {
      sqlite3* db = nullptr;
      ASSERT_EQ(sqlite3_open(url().substr(7).c_str(), &db), SQLITE_OK);
      for (const char* table : {"live", "history"}) {
        const std::string statement = "UPDATE " + std::string(table) + " SET " + assignment +
                                      " WHERE queue_id IN (SELECT id FROM queues WHERE ns = 'careless')";
        EXPECT_EQ(sqlite3_exec(db, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
      }
      sqlite3_close(db);
      return;
    }
    PGconn* const connection = PQconnectdb(url().substr(0, url().find('?')).c_str());
    const std::string schema = url().substr(url().rfind("schema=") + 7);
    for (const char* table : {".live", ".history"}) {
      const std::string statement = "UPDATE " + schema + table + " SET " + assignment +
                                    " WHERE queue_id IN (SELECT id FROM " + schema + ".queues WHERE ns = 'careless')";
      PGresult* const result = PQexec(connection, statement.c_str());
      EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQerrorMessage(connection);
      PQclear(result);
    }
    PQfinish(connection);
  }

  void expect_views_read() {
    if (!capabilities().speaks_sql) { return; }
    for (const char* view : {"executions", "activity_runs", "task_instances"}) {
      EXPECT_NO_THROW(std::ignore = store().sql("SELECT * FROM " + std::string(view), 1000)) << view;
    }
  }
};

TEST_F(ForeignPayloadConformance, NothingOneTenantStoresFailsAnothersFilters) {
  const Uuid own = plain("careful").id;
  for (const std::string& value : awkward_values()) {
    admit_id(awkward("careless", value));
    expect_filters_find("careful", own);
  }
  for (std::size_t i = 0; i < awkward_values().size(); ++i) { complete("careless"); }
  expect_filters_find("careful", own);
}

TEST_F(ForeignPayloadConformance, TheOwnersFiltersFindWhatTheyAskFor) {
  for (const std::string& value : awkward_values()) {
    const std::string namespace_name = "tenant " + base::new_uuid7().to_string();
    const NewExecution item = awkward(namespace_name, value);
    admit_id(item);
    expect_filters_find(namespace_name, item.id);
    complete(namespace_name);
    expect_filters_find(namespace_name, item.id);
    const Execution found = get(item.id);
    EXPECT_EQ(found.input, item.input);
    EXPECT_EQ(found.result, item.input);
    EXPECT_EQ(found.labels, item.labels);
  }
}

TEST_F(ForeignPayloadConformance, TheViewsShowEveryPayload) {
  for (const std::string& value : awkward_values()) {
    admit_id(awkward("careless", value));
    complete("careless");
    admit_id(awkward("careless", value));
  }
  expect_views_read();
}

TEST_F(ForeignPayloadConformance, ThePayloadThatADatabaseTypeCannotHoldIsShownAsText) {
  if (!capabilities().speaks_sql || !key_file_.empty()) { return; }  // an encrypted payload is shown as its envelope
  admit_id(awkward("careless", "1e-20000"));
  const std::string input = store().sql("SELECT input FROM executions", 10).rows.at(0).at(0).value();
  EXPECT_NE(input.find("1e-20000"), std::string::npos) << input;
}

// Written out as digits, these would be 104,000 numbers of 16 KiB each.
TEST_F(ForeignPayloadConformance, AViewNeverWritesOutMoreThanWasStored) {
  if (!capabilities().speaks_sql) { return; }
  NewExecution item = request();
  item.input = "[1e-16383";
  while (item.input.size() < (1 << 20) - 20) { item.input += ",1e-16383"; }
  item.input += "]";
  admit_id(item);
  const std::string input = store().sql("SELECT input FROM executions", 10).rows.at(0).at(0).value();
  EXPECT_LT(input.size(), 4 * item.input.size());
}

TEST_F(ForeignPayloadConformance, BytesThatAreNoJsonFailNoFilterOfOthersAndNoView) {
  if (!capabilities().durable) { return; }
  const Uuid own = plain("careful").id;
  plain("careless");
  complete("careless");
  plain("careless");
  for (const char* labels : {"'{'", "'no json'", "'{\"tags\":7,\"metadata\":[]}'", "'{\"tags\":[\"\\ud800\"]}'"}) {
    spoil("labels = " + std::string(labels));
    expect_filters_find("careful", own);
    expect_views_read();
  }
  spoil(capabilities().attaches_transaction ? "input = '\\xff00'::bytea" : "input = x'ff00'");
  expect_filters_find("careful", own);
  expect_views_read();
}

}  // namespace

}  // namespace hapax::conformance
