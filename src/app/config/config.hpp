// Config: the settings of hapax.toml and of the environment, checked, as values of the model. Activities are kept as
// JSON.
//
// A plain value; no function here opens a store. config/apply.hpp applies a Config to a store.
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

// One value that the file or the environment sets. `source` is "hapax.toml:4" or "HAPAX_STORE_URL".
struct Stated {
  std::string key{};    // "queues.payments.retention"
  std::string value{};  // as the file spells it, without passwords
  std::string source{};
  int line = 0;  // in the file; 0: not in the file
};

struct WorkerSection {
  std::optional<Duration> lease{};
  std::optional<Duration> heartbeat{};  // none: a third of the lease
  std::optional<int> threads{};
  std::optional<Duration> grace{};
};

// An [activities.ID] table of the file. Only app/configuration.hpp, a higher layer, knows its members; it reads the
// JSON.
struct ActivityTable {
  std::string json{};    // the definition, with the table's name as its ID
  std::string source{};  // "hapax.toml:12"
  int line = 0;
  // Lines of the members by their paths within the table: "trigger.cron", "tasks[1].queue".
  std::map<std::string, int, std::less<>> lines{};
};

// A configuration. A member without a value was not set.
struct Config {
  std::string path{};  // of the file; empty: no file
  std::optional<std::string> store_url{};
  std::optional<std::string> server_url{};         // the server that commands use instead of the store
  std::optional<std::string> server_token_file{};  // the token for that server
  std::optional<std::string> server_ca_file{};     // trusted authorities, for https
  std::optional<std::string> namespace_name{};
  std::optional<std::string> encryption_key_file{};
  std::map<std::string, model::QueuePatch> queues{};
  std::map<std::string, model::TaskDefinition> tasks{};
  std::map<std::string, ActivityTable> activities{};
  std::optional<IdentityStrategy> identity_default{};
  std::optional<bool> require_event_id{};
  std::optional<Duration> cleanup_interval{};
  std::optional<std::size_t> payload_limit{};  // bytes
  WorkerSection worker{};
  std::vector<Stated> stated{};  // all values above, in the file's order

  // The source of a key's value; empty: the key was not set.
  [[nodiscard]] std::string source_of(std::string_view key) const;
  [[nodiscard]] const Stated* find(std::string_view key) const;  // null: not set
  // Adds the value, or replaces the key's earlier value.
  void state(Stated stated_now);
};

// One problem with the configuration.
struct Problem {
  std::string source{};  // "hapax.toml:4"; empty when the key is a variable
  std::string key{};     // "queues.payments.retention"; empty when the file itself is the problem
  std::string message{};
  int line = 0;  // in the file; 0: not in the file

  [[nodiscard]] std::string text() const;  // "hapax.toml:4: queues.payments.retention: '7 days' …"
};

// The result of reading: all problems, in the file's order, and the settings that are valid.
struct Reading {
  Config config{};
  std::vector<Problem> problems{};
};

// Returns the value of an environment variable, or none.
using Environment = std::function<std::optional<std::string>(const std::string& variable)>;
[[nodiscard]] Environment process_environment();
[[nodiscard]] Environment no_environment();

// Reads the file and the environment; a variable overrides the file. An empty path: no file.
[[nodiscard]] Reading read(const std::string& path, const Environment& environment);
[[nodiscard]] Reading read_text(std::string_view text, const std::string& path, const Environment& environment);

// Returns the configuration of a reading without problems. Throws ConfigurationError with the first problem.
[[nodiscard]] Config require_good(Reading reading);

// Reads the file without the environment. Both throw ConfigurationError with the first problem.
[[nodiscard]] Config load(const std::string& path);
[[nodiscard]] Config parse(std::string_view text, const std::string& path);

// Default values.
inline constexpr Duration usual_lease = std::chrono::seconds(30);
inline constexpr Duration usual_grace = std::chrono::seconds(30);

// All effective values, set or default, for people. The source of a default is "default".
[[nodiscard]] std::vector<Stated> effective(const Config& config);
// The configuration in words: one sentence for each queue and task.
[[nodiscard]] std::vector<std::string> describe_configuration(const Config& config);

}  // namespace hapax::config
