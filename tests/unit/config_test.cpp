#include "app/config/config.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hapax::config {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

Reading read_here(std::string_view text) { return read_text(text, "hapax.toml", no_environment()); }

// All errors in a text, one per line.
std::vector<std::string> problems(std::string_view text) {
  std::vector<std::string> all;
  for (const Problem& problem : read_here(text).problems) { all.push_back(problem.text()); }
  return all;
}

std::string only_problem(std::string_view text) {
  const std::vector<std::string> all = problems(text);
  EXPECT_THAT(all, SizeIs(1)) << text;
  return all.empty() ? "" : all.front();
}

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

// A file in a folder of its own, deleted with the test.
class ConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "hapax_config_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text, mode_t mode = 0644) {
    const std::string path = (folder_ / "hapax.toml").string();
    std::ofstream(path, std::ios::binary) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string refusal(const std::string& path) {
    try {
      (void)load(path);
    } catch (const ConfigurationError& error) { return error.what(); }
    ADD_FAILURE() << "nothing was refused";
    return "";
  }

  std::filesystem::path folder_;
};

// ---- What a file may say ---------------------------------------------------------------------------------------------

TEST(Configuration, TheExampleOfTheSpecificationIsTaken) {
  const Config config = parse(R"(
[store]
url = "sqlite:hapax.db"          # or postgresql://…  or memory:
[queues.payments]
retention = "30d"
rate_limit = "100/sec"
concurrency = 20
[queues.ephemeral]
retention = "0"
[tasks.generate-report]
queue = "reports"
identity_strategy = "contextual"
identity_keys = ["/customer_id", "/month"]
max_attempts = 6
)",
                              "hapax.toml");
  EXPECT_EQ(config.store_url, "sqlite:hapax.db");
  const model::QueuePatch& payments = config.queues.at("payments");
  EXPECT_EQ(payments.retention, std::optional<Duration>(std::chrono::days(30)));
  EXPECT_EQ(payments.rate, std::optional<RateLimit>({.count = 100, .per = 1s}));
  EXPECT_EQ(payments.concurrency, std::optional<int>(20));
  EXPECT_FALSE(payments.failed_retention);
  EXPECT_EQ(config.queues.at("ephemeral").retention, std::optional<Duration>(0s));
  const model::TaskDefinition& report = config.tasks.at("generate-report");
  EXPECT_EQ(report.queue, "reports");
  EXPECT_EQ(report.strategy, IdentityStrategy::contextual);
  EXPECT_THAT(report.identity_keys, ElementsAre("/customer_id", "/month"));
  EXPECT_EQ(report.max_attempts, 6);
  EXPECT_EQ(config.source_of("queues.payments.rate_limit"), "hapax.toml:6");
}

TEST(Configuration, EveryKeyOfAQueueIsTaken) {
  const model::QueuePatch patch = parse(R"([queues.q]
retention = "12h"
failed_retention = "2w"
dedup_window = "90d"
rate_limit = "30/min"
burst = 5
key_rate_limit = "2/sec burst 1"
concurrency = 10
worker_concurrency = 3
key_concurrency = 2
paused = true)",
                                        "f")
                                      .queues.at("q");
  EXPECT_EQ(patch.retention, std::optional<Duration>(12h));
  EXPECT_EQ(patch.failed_retention, std::optional<Duration>(std::chrono::days(14)));
  EXPECT_EQ(patch.dedup_window, std::optional<Duration>(std::chrono::days(90)));
  EXPECT_EQ(patch.rate, std::optional<RateLimit>({.count = 30, .per = 1min, .burst = 5}));
  EXPECT_EQ(patch.key_rate, std::optional<RateLimit>({.count = 2, .per = 1s, .burst = 1}));
  EXPECT_EQ(patch.concurrency, std::optional<int>(10));
  EXPECT_EQ(patch.worker_concurrency, std::optional<int>(3));
  EXPECT_EQ(patch.key_concurrency, std::optional<int>(2));
  EXPECT_EQ(patch.paused, true);
}

TEST(Configuration, ASettingIsTakenAwayByTheWordForItsAbsence) {
  const model::QueuePatch patch = parse(R"([queues.q]
retention = "default"
failed_retention = "same"
dedup_window = "none"
rate_limit = "none"
concurrency = "none")",
                                        "f")
                                      .queues.at("q");
  EXPECT_TRUE(patch.retention && !*patch.retention);
  EXPECT_TRUE(patch.failed_retention && !*patch.failed_retention);
  EXPECT_TRUE(patch.dedup_window && !*patch.dedup_window);
  EXPECT_TRUE(patch.rate && !*patch.rate);
  EXPECT_TRUE(patch.concurrency && !*patch.concurrency);
  EXPECT_FALSE(patch.key_rate);
}

TEST(Configuration, EveryKeyOfATaskIsTaken) {
  const model::TaskDefinition task = parse(R"([tasks.t]
queue = "q"
identity_strategy = "strict"
identity_scope = "queue"
fingerprint = ["/amount"]
reuse = "reject"
dedup_window = "30d"
priority = -5
max_attempts = 6
max_lost = 2
timeout = "30s"
deadline = "1h"
retry = { base = "1s", cap = "1m", multiplier = 3, jitter = "equal" })",
                                           "f")
                                         .tasks.at("t");
  EXPECT_EQ(task.scope, IdentityScope::queue);
  EXPECT_EQ(task.fingerprint, (Fingerprint{.pointers = {"/amount"}}));
  EXPECT_EQ(task.reuse, Reuse::reject);
  EXPECT_EQ(task.dedup_window, Duration(std::chrono::days(30)));
  EXPECT_EQ(task.priority, -5);
  EXPECT_EQ(task.max_lost, 2);
  EXPECT_EQ(task.timeout, Duration(30s));
  EXPECT_EQ(task.deadline, Duration(1h));
  EXPECT_EQ(task.retry, (RetryPolicy{.base = 1s, .cap = 1min, .multiplier = 3, .jitter = Jitter::equal}));
}

TEST(Configuration, TheOtherSectionsAreTaken) {
  const Config config = parse(R"(namespace = "shop"
[identity]
default = "always_unique"
[cleanup]
interval = "15m"
[limits]
payload = "4MiB"
[worker]
lease = "1m"
heartbeat = "10s"
threads = 8
grace = "5s")",
                              "f");
  EXPECT_EQ(config.namespace_name, "shop");
  EXPECT_EQ(config.identity_default, IdentityStrategy::always_unique);
  EXPECT_EQ(config.cleanup_interval, Duration(15min));
  EXPECT_EQ(config.payload_limit, std::size_t{4} << 20);
  EXPECT_EQ(config.worker.lease, Duration(1min));
  EXPECT_EQ(config.worker.heartbeat, Duration(10s));
  EXPECT_EQ(config.worker.threads, 8);
  EXPECT_EQ(config.worker.grace, Duration(5s));
}

TEST(Configuration, AnEmptyFileSaysNothing) {
  const Config config = parse("# nothing\n", "f");
  EXPECT_FALSE(config.store_url);
  EXPECT_THAT(config.stated, IsEmpty());
}

TEST(Configuration, NamesThatTomlWantsQuotedAreTaken) {
  const Config config = parse("[queues.\"eu.payments\"]\nretention = \"1d\"", "f");
  EXPECT_TRUE(config.queues.contains("eu.payments"));
  EXPECT_EQ(config.source_of("queues.\"eu.payments\".retention"), "f:2");
}

// ---- What it may not -------------------------------------------------------------------------------------------------

TEST(Configuration, AProblemHasPlaceKeyWhatCameAndAnExample) {
  EXPECT_THAT(only_problem("[queues.payments]\nretention = \"7 days\""),
              AllOf(StartsWith("hapax.toml:2: queues.payments.retention: '7 days' "), HasSubstr("\"30d\"")));
  EXPECT_THAT(only_problem("[queues.payments]\nrate_limit = \"fast\""),
              AllOf(StartsWith("hapax.toml:2: queues.payments.rate_limit: 'fast' "), HasSubstr("\"100/sec\"")));
  EXPECT_THAT(only_problem("\n\n[queues.q]\nretention = \"-1d\""),
              StartsWith("hapax.toml:4: queues.q.retention: '-1d' is negative"));
  EXPECT_THAT(only_problem("[queues.q]\nretention = \"30\""), HasSubstr("queues.q.retention: '30' has no unit"));
  EXPECT_THAT(only_problem("[queues.q]\nretention = \"99999d\""),
              StartsWith("hapax.toml:2: queues.q.retention: 99999d is out of range"));
  EXPECT_THAT(only_problem("[queues.q]\nconcurrency = 0"),
              StartsWith("hapax.toml:2: queues.q.concurrency: 0 is out of range; expected 1 to 1000000"));
}

TEST(Configuration, AWrongTypeSaysWhichIsExpected) {
  EXPECT_EQ(only_problem("[queues.q]\nretention = 30"),
            "hapax.toml:2: queues.q.retention: is 30; expected a duration in quotes such as \"30d\", \"12h\" or \"0\"");
  EXPECT_THAT(only_problem("[queues.q]\nconcurrency = \"20\""), HasSubstr("is \"20\"; expected a whole number"));
  EXPECT_THAT(only_problem("[queues.q]\nconcurrency = 2.5"), HasSubstr("is 2.5; expected a whole number"));
  EXPECT_THAT(only_problem("[queues.q]\npaused = \"yes\""), HasSubstr("is \"yes\"; expected true or false"));
  EXPECT_THAT(only_problem("[queues.q]\nretention = 2026-01-01"), HasSubstr("is the date 2026-01-01; expected"));
  EXPECT_THAT(only_problem("queues = 5"), HasSubstr("queues: is 5; expected a table such as [queues.NAME]"));
  EXPECT_THAT(only_problem("[queues]\nretention = \"30d\""),
              HasSubstr("queues.retention: is \"30d\"; expected a table such as [queues.payments]"));
  EXPECT_THAT(only_problem("[worker]\nthreads = \"8\""),
              HasSubstr("worker.threads: is \"8\"; expected a whole number"));
  EXPECT_THAT(only_problem("[tasks.t]\nmax_attempts = \"6\""), HasSubstr("tasks.t.max_attempts: is \"6\"; expected"));
  EXPECT_THAT(only_problem("[tasks.t]\nqueue = 2026-01-01"), HasSubstr("tasks.t.queue: has the date 2026-01-01"));
  EXPECT_THAT(only_problem("[tasks.t]\nretry = { multiplier = inf }"), HasSubstr("tasks.t.retry: has inf"));
}

TEST(Configuration, UnknownKeysAndSectionsAreErrorsWithASuggestion) {
  EXPECT_EQ(only_problem("[queues.q]\nretenton = \"30d\""),
            "hapax.toml:2: queues.q.retenton: unknown key; did you mean \"retention\"?");
  EXPECT_EQ(only_problem("[tasks.t]\nmax_atempts = 3"),
            "hapax.toml:2: tasks.t.max_atempts: unknown key; did you mean \"max_attempts\"?");
  EXPECT_EQ(only_problem("[queue.q]"), "hapax.toml:1: queue: unknown section; did you mean \"queues\"?");
  EXPECT_EQ(only_problem("[worker]\nleese = \"3s\""),
            "hapax.toml:2: worker.leese: unknown key; did you mean \"lease\"?");
  EXPECT_THAT(only_problem("[cleanup]\nbananas = 1"), HasSubstr("cleanup.bananas: unknown key; expected interval"));
  EXPECT_THAT(only_problem("[queues.eu.payments]"), HasSubstr("[queues.\"eu.payments\"]"));
}

TEST(Configuration, DuplicatesAreErrors) {
  EXPECT_THAT(only_problem("[queues.q]\nretention = \"1d\"\nretention = \"2d\""), StartsWith("hapax.toml:3: "));
  EXPECT_THAT(only_problem("[queues.q]\n[queues.q]"), StartsWith("hapax.toml:2: "));
}

TEST(Configuration, WhatIsNotTomlIsToldWithItsLine) {
  EXPECT_THAT(only_problem("[store]\nurl = sqlite:x"), StartsWith("hapax.toml:2: is not TOML: "));
  EXPECT_THAT(only_problem("[store"), StartsWith("hapax.toml:1: is not TOML: "));
}

TEST(Configuration, ATasksMembersAreCheckedAsTheCatalogueDoes) {
  EXPECT_THAT(only_problem("[tasks.t]\nidentity_strategy = \"sometimes\""),
              AllOf(StartsWith("hapax.toml:2: tasks.t.identity_strategy: 'sometimes' "), HasSubstr("caller_provided")));
  EXPECT_THAT(only_problem("[tasks.t]\nidentity_strategy = \"contextual\""),
              AllOf(StartsWith("hapax.toml:1: tasks.t.identity_keys: is missing"), HasSubstr("/customer_id")));
  EXPECT_THAT(only_problem("[tasks.t]\nqueue = \"q\"\nidentity_keys = [\"/a\"]"),
              StartsWith("hapax.toml:3: tasks.t.identity_keys: is given, but"));
  EXPECT_THAT(only_problem("[tasks.t]\nidentity_strategy = \"contextual\"\nidentity_keys = [\"customer\"]"),
              StartsWith("hapax.toml:3: tasks.t.identity_keys: "));
  EXPECT_THAT(only_problem("[tasks.t]\ntimeout = \"0\""),
              StartsWith("hapax.toml:2: tasks.t.timeout: 0 is out of range"));
  EXPECT_THAT(only_problem("[tasks.t]\npriority = 40000"), StartsWith("hapax.toml:2: tasks.t.priority: 40000 is out"));
  EXPECT_THAT(only_problem("[tasks.t]\n[tasks.t.retry]\nbase = \"1s\"\nmultiplier = 0.5"),
              StartsWith("hapax.toml:4: tasks.t.retry.multiplier: 0.5"));
  EXPECT_THAT(only_problem("[tasks.t]\nretry = { bse = \"1s\" }"), HasSubstr("tasks.t.retry.bse: unknown key"));
}

TEST(Configuration, BurstGoesWithARateLimitOnly) {
  EXPECT_THAT(only_problem("[queues.q]\nburst = 5"), HasSubstr("queues.q.burst: is given without a rate"));
  EXPECT_THAT(only_problem("[queues.q]\nrate_limit = \"none\"\nburst = 5"), HasSubstr("without a rate"));
  EXPECT_THAT(only_problem("[queues.q]\nrate_limit = \"5/sec burst 2\"\nburst = 5"), HasSubstr("given twice"));
  EXPECT_THAT(only_problem("[queues.q]\nrate_limit = \"5/sec\"\nburst = -1"), HasSubstr("is -1; expected"));
}

TEST(Configuration, ALeaseUnderThreeHeartbeatsIsRefused) {
  EXPECT_THAT(
      only_problem("[worker]\nlease = \"30s\"\nheartbeat = \"11s\""),
      AllOf(StartsWith("hapax.toml:3: worker.heartbeat: '11s' is more than a third"), HasSubstr("at most 10s")));
  EXPECT_THAT(only_problem("[worker]\nheartbeat = \"15s\""), HasSubstr("the lease, which is 30s by default"));
  EXPECT_THAT(problems("[worker]\nlease = \"30s\"\nheartbeat = \"10s\""), IsEmpty());
  EXPECT_THAT(only_problem("[worker]\nlease = \"1ms\""), HasSubstr("worker.lease: '1ms' is out of range"));
}

TEST(Configuration, OtherValuesOutOfRangeAreRefused) {
  EXPECT_THAT(only_problem("[cleanup]\ninterval = \"0\""), HasSubstr("cleanup.interval: '0' is out of range"));
  for (const char* size : {"8193KiB", "9MiB", "0KiB", "99999999999999999MiB"}) {
    EXPECT_THAT(only_problem("[limits]\npayload = \"" + std::string(size) + "\""),
                HasSubstr("limits.payload: '" + std::string(size) + "' is out of range; expected 1KiB to 8MiB"));
  }
  for (const char* size : {"", "4", "MiB", "4 MiB", "4mb", "-1MiB", "1.5MiB", "99999999999999999999MiB"}) {
    EXPECT_THAT(only_problem("[limits]\npayload = \"" + std::string(size) + "\""), HasSubstr("is no size; expected"));
  }
  EXPECT_THAT(only_problem("[worker]\nthreads = 0"), HasSubstr("worker.threads: '0' is out of range"));
  EXPECT_THAT(only_problem("[identity]\ndefault = \"contextual\""), HasSubstr("identity.default: 'contextual' needs"));
  EXPECT_THAT(only_problem("namespace = \"\""), HasSubstr("namespace: is empty"));
  EXPECT_THAT(only_problem("[queues.\"\"]"), HasSubstr("queues.\"\": is empty"));
  EXPECT_THAT(only_problem("[tasks.\"a\\u0007\"]"), HasSubstr("control characters"));
}

TEST(Configuration, AStoreThatIsNoneIsRefusedWithoutItsPassword) {
  const std::string problem = only_problem("[store]\nurl = \"mysql://me:secret@host/db\"");
  EXPECT_THAT(problem, StartsWith("hapax.toml:2: store.url: 'mysql' is no kind of store"));
  EXPECT_THAT(problem, testing::Not(HasSubstr("secret")));
}

TEST(Configuration, ProblemsAndValuesComeInTheFilesOrder) {
  EXPECT_THAT(problems("[worker]\nheartbeat = \"20s\"\n[queues.q]\nburst = 5\nretention = \"x\""),
              ElementsAre(StartsWith("hapax.toml:2:"), StartsWith("hapax.toml:4:"), StartsWith("hapax.toml:5:")));
  std::vector<int> lines;
  for (const Stated& one : parse("[queues.q]\nburst = 5\nrate_limit = \"1/sec\"\npaused = true", "f").stated) {
    lines.push_back(one.line);
  }
  EXPECT_THAT(lines, ElementsAre(2, 3, 4));
}

TEST(Configuration, AllProblemsAreToldAndTheRestIsStillRead) {
  const Reading reading = read_here(R"([store]
url = "sqlite:a.db"
[queues.q]
retention = "7 days"
rate_limit = "fast"
concurrency = 5
[queues.r]
retenton = "1d"
[tasks.t]
max_attempts = 0
priority = "high"
)");
  std::vector<std::string> places;
  for (const Problem& problem : reading.problems) { places.push_back(problem.source + " " + problem.key); }
  EXPECT_THAT(places, ElementsAre("hapax.toml:4 queues.q.retention", "hapax.toml:5 queues.q.rate_limit",
                                  "hapax.toml:8 queues.r.retenton", "hapax.toml:10 tasks.t.max_attempts",
                                  "hapax.toml:11 tasks.t.priority"));
  EXPECT_EQ(reading.config.store_url, "sqlite:a.db");
  EXPECT_EQ(reading.config.queues.at("q").concurrency, std::optional<int>(5));
  try {
    (void)require_good(reading);
    FAIL() << "nothing was thrown";
  } catch (const ConfigurationError& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith("hapax.toml:4: queues.q.retention: "), HasSubstr("(4 more;")));
    EXPECT_EQ(error.name(), "ConfigurationError");
  }
}

// ---- The environment -------------------------------------------------------------------------------------------------

TEST(Configuration, TheEnvironmentGoesOverTheFile) {
  const Reading reading = read_text("[store]\nurl = \"sqlite:a.db\"\n[cleanup]\ninterval = \"2h\"", "f",
                                    variables({{"HAPAX_STORE_URL", "memory:"},
                                               {"HAPAX_NAMESPACE", "shop"},
                                               {"HAPAX_IDENTITY_DEFAULT", "always_unique"},
                                               {"HAPAX_WORKER_LEASE", "1m"},
                                               {"HAPAX_WORKER_HEARTBEAT", "20s"},
                                               {"HAPAX_WORKER_THREADS", ""}}));
  EXPECT_THAT(reading.problems, IsEmpty());
  EXPECT_EQ(reading.config.store_url, "memory:");
  EXPECT_EQ(reading.config.source_of("store.url"), "HAPAX_STORE_URL");
  EXPECT_EQ(reading.config.namespace_name, "shop");
  EXPECT_EQ(reading.config.identity_default, IdentityStrategy::always_unique);
  EXPECT_EQ(reading.config.cleanup_interval, Duration(2h));
  EXPECT_EQ(reading.config.worker.lease, Duration(1min));
  EXPECT_FALSE(reading.config.worker.threads);
}

TEST(Configuration, ABadVariableIsNamed) {
  const auto problem = [](const std::string& name, const std::string& value) {
    const Reading reading = read_text("", "f", variables({{name, value}}));
    EXPECT_THAT(reading.problems, SizeIs(1)) << name;
    return reading.problems.empty() ? "" : reading.problems.front().text();
  };
  EXPECT_THAT(problem("HAPAX_CLEANUP_INTERVAL", "1 hour"), StartsWith("HAPAX_CLEANUP_INTERVAL: '1 hour' "));
  EXPECT_THAT(problem("HAPAX_STORE_URL", "nonsense"), StartsWith("HAPAX_STORE_URL: 'nonsense' is no kind"));
  EXPECT_THAT(problem("HAPAX_IDENTITY_DEFAULT", "maybe"), StartsWith("HAPAX_IDENTITY_DEFAULT: 'maybe' "));
  EXPECT_THAT(problem("HAPAX_WORKER_HEARTBEAT", "20s"), StartsWith("HAPAX_WORKER_HEARTBEAT: '20s' is more than"));
}

// ---- The file itself -------------------------------------------------------------------------------------------------

TEST_F(ConfigFile, IsReadFromItsPath) { EXPECT_EQ(load(write("[store]\nurl = \"memory:\"")).store_url, "memory:"); }

TEST_F(ConfigFile, ThatCannotBeReadIsToldByItsPath) {
  const std::string absent = (folder_ / "absent.toml").string();
  EXPECT_THAT(refusal(absent), AllOf(StartsWith(absent + ": cannot be read: "), HasSubstr("No such file")));
  EXPECT_THAT(refusal(folder_.string()), StartsWith(folder_.string() + ": is a folder"));
}

TEST_F(ConfigFile, OverAMebibyteIsRefused) {
  EXPECT_THAT(refusal(write(std::string((1 << 20) + 1, '#'))), HasSubstr("has more than 1048576 bytes"));
  EXPECT_NO_THROW((void)load(write(std::string(1 << 20, '#'))));
}

TEST_F(ConfigFile, ThatIsNotUtf8IsRefusedWithTheLine) {
  const std::string path = write("# one\n# \xFF\n");
  EXPECT_THAT(refusal(path), StartsWith(path + ":2: is not UTF-8"));
}

TEST_F(ConfigFile, WithAPasswordMustNotBeReadableByOthers) {
  const std::vector<std::string> secret = {
      "postgresql://me:secret@db/app", "postgresql:///app?user=me&password=secret", "postgresql://db/app?sslpassword=s",
      "postgresql://me@db/app?listen_url=postgresql%3A%2F%2Fme%3Asecret%40db%2Fapp"};
  for (const std::string& url : secret) {
    const std::string text = "[store]\nurl = \"" + url + "\"";
    for (const mode_t mode : {0644U, 0640U, 0604U}) {
      EXPECT_THAT(refusal(write(text, mode)), AllOf(HasSubstr("hapax.toml:2: store.url: has a password"),
                                                    HasSubstr("readable by others"), testing::Not(HasSubstr("secret"))))
          << url;
    }
    EXPECT_NO_THROW((void)load(write(text, 0600))) << url;
  }
  for (const std::string url : {"postgresql://me@db:5432/app", "postgresql://db/app?schema=a@b:c", "sqlite:a:b@c.db",
                                "postgresql://me@db/app?listen_url=postgresql://me@direct:5432/app"}) {
    EXPECT_NO_THROW((void)load(write("[store]\nurl = \"" + url + "\"", 0644))) << url;
  }
}

TEST_F(ConfigFile, WithAPasswordIsRefusedAlsoWhenTheEnvironmentGoesOverIt) {
  const std::string path = write("[store]\nurl = \"postgresql://me:secret@db/app\"");
  EXPECT_THAT(read(path, variables({{"HAPAX_STORE_URL", "memory:"}})).problems, SizeIs(1));
}

// ---- For people ------------------------------------------------------------------------------------------------------

TEST(Configuration, WhatCountsIsToldWithItsSource) {
  const Config config =
      require_good(read_text("[store]\nurl = \"postgresql://me:secret@db/app\"\n[worker]\nlease = \"1m\"", "f",
                             variables({{"HAPAX_NAMESPACE", "shop"}})));
  std::vector<std::string> lines;
  for (const Stated& one : effective(config)) { lines.push_back(one.key + "=" + one.value + " from " + one.source); }
  EXPECT_THAT(lines, testing::UnorderedElementsAre(
                         "store.url=postgresql://me:***@db/app from f:2", "worker.lease=1m from f:4",
                         "namespace=shop from HAPAX_NAMESPACE", "identity.default=strict from default",
                         "events.require_event_id=false from default", "cleanup.interval=1h from default",
                         "limits.payload=1MiB from default", "worker.heartbeat=20s from default",
                         "worker.grace=30s from default"));
}

TEST(Configuration, WhatItMeansIsToldInSentences) {
  const Config config = parse(R"([queues.payments]
retention = "30d"
rate_limit = "100/sec"
concurrency = 20
[tasks.report]
identity_strategy = "contextual"
identity_keys = ["/customer_id", "/month"]
queue = "reports"
[tasks.charge]
)",
                              "f");
  EXPECT_THAT(
      describe_configuration(config),
      ElementsAre("Queue payments keeps what has ended for 30d; starts at most 100/sec over all workers; runs at "
                  "most 20 at once over all workers.",
                  "Task charge: two requests are the same when their whole input is the same.",
                  "Task report: two requests are the same when /customer_id and /month of their input are the "
                  "same; it goes to queue reports."));
}

}  // namespace
}  // namespace hapax::config
