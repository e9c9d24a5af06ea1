// The SQL stores behave as the memory store does, for any calls in any order.
//
// HAPAX_PROPERTY_SEED draws other sequences, HAPAX_PROPERTY_RUNS more of them. A failure prints the shortest sequence
// that shows it, with every call and answer.
#include "property/harness.hpp"

#include "base/uuid7.hpp"
#include "store/open.hpp"

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <sstream>
#include <unordered_map>

namespace hapax::property {

namespace {

using Offset = std::shared_ptr<std::atomic<std::int64_t>>;

// A store that is created for one sequence and removed after it.
struct Fresh {
  std::unique_ptr<Store> store;
  std::function<void()> remove;
};

Fresh fresh_memory(const Offset& offset) {
  return {.store = store::open("memory:", {.clock_offset_us = offset}), .remove = [] {}};
}

Fresh fresh_sqlite(const Offset& offset) {
  std::string folder = (std::filesystem::temp_directory_path() / "hapax-property.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) { throw std::runtime_error("no folder for the test: " + folder); }
  return {.store = store::open("sqlite:" + folder + "/store.db", {.clock_offset_us = offset}),
          .remove = [folder] { std::filesystem::remove_all(folder); }};
}

Fresh fresh_postgres(const Offset& offset) {
  const char* const server = std::getenv("HAPAX_TEST_POSTGRES_URL");
  if (server == nullptr || *server == '\0') {
    throw std::runtime_error("HAPAX_TEST_POSTGRES_URL is not set: ./dev test sets it");
  }
  const std::string url = server;
  std::string schema = "p_" + base::new_uuid7().to_string();
  std::erase(schema, '-');
  const auto drop = [url, schema] {
    PGconn* const connection = PQconnectdb(url.substr(0, url.find('?')).c_str());
    PQclear(
        PQexec(connection, ("SET client_min_messages = error; DROP SCHEMA IF EXISTS " + schema + " CASCADE").c_str()));
    PQfinish(connection);
  };
  const char joint = url.find('?') == std::string::npos ? '?' : '&';
  return {.store = store::open(url + joint + "schema=" + schema,
                               {.migrate = store::Migrate::yes, .clock_offset_us = offset}),
          .remove = drop};
}

std::uint64_t environment_number(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::stoull(text);
}

struct Effort {
  int runs = 0;
  int longest = 0;  // most operations in a sequence
};

// Shrinking needs many more runs. It stops after this time and shows the shortest sequence so far.
constexpr std::chrono::seconds shrinking_limit{60};

void run_on_both(const std::vector<Operation>& sequence, const std::function<Fresh(const Offset&)>& make) {
  const Offset offset = std::make_shared<std::atomic<std::int64_t>>(0);
  const Fresh model = fresh_memory(offset);
  Fresh subject = make(offset);
  const std::shared_ptr<void> cleaner(nullptr, [&subject](void*) {
    subject.store.reset();
    subject.remove();
  });
  Harness harness(*model.store, *subject.store, offset);
  for (const Operation& operation : sequence) { harness.run(operation); }
  harness.compare_everything();
}

void expect_agreement(const std::function<Fresh(const Offset&)>& make, const Effort& effort) {
  rc::detail::TestParams params;
  params.seed = environment_number("HAPAX_PROPERTY_SEED", 20260301);
  params.maxSuccess =
      static_cast<int>(environment_number("HAPAX_PROPERTY_RUNS", static_cast<std::uint64_t>(effort.runs)));
  params.maxSize = effort.longest;
  std::cout << "HAPAX_PROPERTY_SEED=" << params.seed << " HAPAX_PROPERTY_RUNS=" << params.maxSuccess << std::endl;
  std::optional<std::chrono::steady_clock::time_point> failed_at;
  std::string shortest;  // message of the last failure; shrinking only tries shorter sequences
  const auto property = [&] {
    const std::vector<Operation> sequence = *operations();
    if (failed_at && std::chrono::steady_clock::now() > *failed_at + shrinking_limit) { return; }
    try {
      run_on_both(sequence, make);
    } catch (const std::exception& error) {
      failed_at = failed_at.value_or(std::chrono::steady_clock::now());
      shortest = error.what();
      RC_FAIL("the stores differ");
    }
  };
  // A separate listener, so that rapidcheck does not print a seed that is not used.
  rc::detail::TestListenerAdapter listener;
  const rc::detail::TestResult result = rc::detail::checkTestable(
      property, rc::detail::TestMetadata{}, params, listener, std::unordered_map<std::string, rc::detail::Reproduce>{});
  std::ostringstream told;
  rc::detail::printResultMessage(result, told);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << told.str() << "\n" << shortest;
}

TEST(StoresAgree, TheModelWithItself) { expect_agreement(fresh_memory, {.runs = 200, .longest = 100}); }

TEST(StoresAgree, SqliteWithTheModel) { expect_agreement(fresh_sqlite, {.runs = 40, .longest = 80}); }

TEST(StoresAgree, PostgresWithTheModel) { expect_agreement(fresh_postgres, {.runs = 30, .longest = 80}); }

}  // namespace

}  // namespace hapax::property
