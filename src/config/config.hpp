// Config: what hapax.toml and the environment say (SPEC C1), checked, as values of the model; but for activities, which
// are kept as JSON.
//
// A plain value; nothing here opens a store. config/apply.hpp brings it into one.
#pragma once

#include <hapax/error.hpp>

#include "model/execution.hpp"
#include "model/task_definition.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::config {

// One value that was stated: where it comes from is "hapax.toml:4" or "HAPAX_STORE_URL".
struct Stated {
  std::string key{};    // "queues.payments.retention"
  std::string value{};  // as the file spells it; never shows a password
  std::string source{};
  int line = 0;  // in the file; 0: not there
};

struct WorkerSection {
  std::optional<Duration> lease{};
  std::optional<Duration> heartbeat{};  // none: a third of the lease
  std::optional<int> threads{};
  std::optional<Duration> grace{};
};

// An [activities.ID] table as it stands in the file. What its members mean is known by the room schedule alone, which
// stands above this one and reads the JSON (schedule/configured.hpp).
struct ActivityTable {
  std::string json{};    // the definition, the table's name as its id
  std::string source{};  // "hapax.toml:12"
  int line = 0;
  // Lines of the members by their paths within the table: "trigger.cron", "tasks[1].queue".
  std::map<std::string, int, std::less<>> lines{};
};

// What is not set was not said.
struct Config {
  std::string path{};  // of the file; empty: there is none
  std::optional<std::string> store_url{};
  std::optional<std::string> server_url{};         // who answers commands in place of the store
  std::optional<std::string> server_token_file{};  // for it
  std::optional<std::string> server_ca_file{};     // whom to trust, for https
  std::optional<std::string> ns{};
  std::optional<std::string> encryption_key_file{};
  std::map<std::string, model::QueuePatch> queues{};
  std::map<std::string, model::TaskDefinition> tasks{};
  std::map<std::string, ActivityTable> activities{};
  std::optional<IdentityStrategy> identity_default{};
  std::optional<bool> require_event_id{};
  std::optional<Duration> cleanup_interval{};
  std::optional<std::size_t> payload_limit{};  // bytes
  WorkerSection worker{};
  std::vector<Stated> stated{};  // everything above, in the file's order

  // Where a key's value comes from; empty: it was not stated.
  [[nodiscard]] std::string source_of(std::string_view key) const;
  [[nodiscard]] const Stated* find(std::string_view key) const;  // null: it was not stated
  // Adds, or replaces what was stated before.
  void state(Stated stated_now);
};

struct Problem {
  std::string source{};  // "hapax.toml:4"; empty when the key is a variable
  std::string key{};     // "queues.payments.retention"; empty when the file itself is the problem
  std::string message{};
  int line = 0;  // in the file; 0: not there

  [[nodiscard]] std::string text() const;  // "hapax.toml:4: queues.payments.retention: '7 days' …"
};

// What was read, with every problem, in the file's order. The config has only what could be taken.
struct Reading {
  Config config{};
  std::vector<Problem> problems{};
};

// The value of a variable, or nothing.
using Environment = std::function<std::optional<std::string>(const std::string& variable)>;
[[nodiscard]] Environment process_environment();
[[nodiscard]] Environment no_environment();

// The environment goes over the file (SPEC C1). An empty path: there is no file.
[[nodiscard]] Reading read(const std::string& path, const Environment& environment);
[[nodiscard]] Reading read_text(std::string_view text, const std::string& path, const Environment& environment);

// Throws ConfigurationError with the first problem, if there is one.
[[nodiscard]] Config require_good(Reading reading);

// The file alone. Both throw ConfigurationError with its first problem.
[[nodiscard]] Config load(const std::string& path);
[[nodiscard]] Config parse(std::string_view text, const std::string& path);

// The settings that are kept in the store beside queues and tasks.
inline constexpr std::string_view cleanup_interval_setting = "cleanup.interval";
inline constexpr Duration usual_cleanup_interval = std::chrono::hours(1);  // SPEC R3
inline constexpr Duration usual_lease = std::chrono::seconds(30);          // SPEC D2
inline constexpr Duration usual_grace = std::chrono::seconds(30);

// What counts, stated or by default, for people: each with where it comes from ("default").
[[nodiscard]] std::vector<Stated> effective(const Config& config);
// What it means, a sentence a queue and a task.
[[nodiscard]] std::vector<std::string> in_words(const Config& config);

}  // namespace hapax::config
