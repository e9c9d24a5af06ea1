#include "app/config/reader.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/validate.hpp"

#include <array>
#include <charconv>

namespace hapax::config {
namespace {

using namespace std::chrono_literals;

void set_store(Config& config, std::string_view text, const std::string& field) {
  const bool known = text.starts_with("sqlite:") || text.starts_with("postgresql://") ||
                     text.starts_with("postgres://") || text.starts_with("memory:");
  if (!known) {
    // Shows only the scheme: a URL of another kind may contain a password.
    throw InvalidArgument(field, base::quoted(text.substr(0, text.find(':'))) +
                                     " is no kind of store; expected sqlite:PATH, postgresql://… or memory:, as in "
                                     "\"sqlite:hapax.db\"");
  }
  config.store_url = std::string(text);
}

void set_server(Config& config, std::string_view text, const std::string& field) {
  // The message does not show the URL: the part before an @ may be a secret.
  if (!text.starts_with("http://") && !text.starts_with("https://")) {
    throw InvalidArgument(field, "is not a server's URL; expected one such as \"http://127.0.0.1:7171\"");
  }
  if (text.find('@') != std::string_view::npos) {
    throw InvalidArgument(field, "has a user or password in it; a token comes from server.token_file or HAPAX_TOKEN");
  }
  config.server_url = std::string(text);
}

void set_namespace(Config& config, std::string_view text, const std::string& field) {
  model::check_name(text, field);
  config.namespace_name = std::string(text);
}

void set_identity_default(Config& config, std::string_view text, const std::string& field) {
  const IdentityStrategy strategy = model::parse_strategy(text, field);
  if (strategy == IdentityStrategy::contextual) {
    throw InvalidArgument(field,
                          "'contextual' needs identity_keys, which are a task's own; expected strict, caller_provided "
                          "or always_unique");
  }
  config.identity_default = strategy;
}

void set_require_event_id(Config& config, std::string_view text, const std::string& field) {
  if (text != "true" && text != "false") {
    throw InvalidArgument(field, base::quoted(text) + " is neither; expected true or false");
  }
  config.require_event_id = text == "true";
}

Duration ranged(std::string_view text, const std::string& field, Duration least, Duration most) {
  const Duration value = parse_duration(text, field);
  if (value < least || value > most) {
    throw InvalidArgument(field, base::quoted(text) + " is out of range; expected " + format_duration(least) + " to " +
                                     format_duration(most));
  }
  return value;
}

void set_interval(Config& config, std::string_view text, const std::string& field) {
  config.cleanup_interval = ranged(text, field, 1s, limits::delay_max);
}

// Reads "512KiB", "4MiB".
void set_payload(Config& config, std::string_view text, const std::string& field) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::size_t bytes = unit == "KiB" ? 1 << 10 : unit == "MiB" ? 1 << 20 : 0;
  if (error != std::errc() || bytes == 0) {
    throw InvalidArgument(field,
                          base::quoted(text) + " is no size; expected a whole number of KiB or MiB, as in \"4MiB\"");
  }
  if (value > limits::payload_max / bytes || value * bytes < limits::payload_min) {
    throw InvalidArgument(field, base::quoted(text) + " is out of range; expected " +
                                     std::to_string(limits::payload_min >> 10) + "KiB to " +
                                     std::to_string(limits::payload_max >> 20) + "MiB");
  }
  config.payload_limit = value * bytes;
}

void set_lease(Config& config, std::string_view text, const std::string& field) {
  config.worker.lease = ranged(text, field, limits::lease_min, limits::lease_max);
}

void set_heartbeat(Config& config, std::string_view text, const std::string& field) {
  config.worker.heartbeat = ranged(text, field, limits::lease_min / 10, limits::lease_max);
}

void set_grace(Config& config, std::string_view text, const std::string& field) {
  config.worker.grace = ranged(text, field, 0s, limits::delay_max);
}

void set_threads(Config& config, std::string_view text, const std::string& field) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > limits::worker_threads) {
    throw InvalidArgument(field, base::quoted(text) + " is out of range; expected a whole number from 1 to " +
                                     std::to_string(limits::worker_threads) + ", such as 8");
  }
  config.worker.threads = value;
}

std::string path_in(std::string_view text, const std::string& field, const char* example) {
  if (text.empty() || text.find('\0') != std::string_view::npos) {
    throw InvalidArgument(field, base::quoted(text) + " is not a path; expected one such as \"" + example + "\"");
  }
  return std::string(text);
}

// The file is read when the store is opened: commands that only read the configuration do not need the keys.
void set_key_file(Config& config, std::string_view text, const std::string& field) {
  config.encryption_key_file = path_in(text, field, "/etc/hapax/keys");
}

// The token file and the ca_file are read when the server is called.
void set_token_file(Config& config, std::string_view text, const std::string& field) {
  config.server_token_file = path_in(text, field, "/etc/hapax/token");
}

void set_ca_file(Config& config, std::string_view text, const std::string& field) {
  config.server_ca_file = path_in(text, field, "/etc/hapax/ca.pem");
}

constexpr std::array scalar_keys_keys = {
    ScalarKey{"namespace", "HAPAX_NAMESPACE", Node::Kind::text, "default", set_namespace},
    ScalarKey{"store.url", "HAPAX_STORE_URL", Node::Kind::text, "sqlite:hapax.db", set_store},
    ScalarKey{"server.url", "HAPAX_SERVER_URL", Node::Kind::text, "http://127.0.0.1:7171", set_server},
    ScalarKey{"server.token_file", "HAPAX_SERVER_TOKEN_FILE", Node::Kind::text, "/etc/hapax/token", set_token_file},
    ScalarKey{"server.ca_file", "HAPAX_SERVER_CA_FILE", Node::Kind::text, "/etc/hapax/ca.pem", set_ca_file},
    ScalarKey{"encryption.key_file", "HAPAX_ENCRYPTION_KEY_FILE", Node::Kind::text, "/etc/hapax/keys", set_key_file},
    ScalarKey{"identity.default", "HAPAX_IDENTITY_DEFAULT", Node::Kind::text, "strict", set_identity_default},
    ScalarKey{"events.require_event_id", "HAPAX_EVENTS_REQUIRE_EVENT_ID", Node::Kind::boolean, "true",
              set_require_event_id},
    ScalarKey{"cleanup.interval", "HAPAX_CLEANUP_INTERVAL", Node::Kind::text, "1h", set_interval},
    ScalarKey{"limits.payload", "HAPAX_LIMITS_PAYLOAD", Node::Kind::text, "4MiB", set_payload},
    ScalarKey{"worker.lease", "HAPAX_WORKER_LEASE", Node::Kind::text, "30s", set_lease},
    ScalarKey{"worker.heartbeat", "HAPAX_WORKER_HEARTBEAT", Node::Kind::text, "10s", set_heartbeat},
    ScalarKey{"worker.threads", "HAPAX_WORKER_THREADS", Node::Kind::integer, "8", set_threads},
    ScalarKey{"worker.grace", "HAPAX_WORKER_GRACE", Node::Kind::text, "30s", set_grace},
};

}  // namespace

std::span<const ScalarKey> scalar_keys() { return scalar_keys_keys; }

void check_together(Reading& reading) {
  const WorkerSection& worker = reading.config.worker;
  if (!worker.heartbeat) { return; }
  const Duration lease = worker.lease.value_or(usual_lease);
  if (lease >= *worker.heartbeat * 3) { return; }
  const Stated& beat = *reading.config.find("worker.heartbeat");
  const bool by_file = beat.line > 0;  // for a variable, the key is the variable's name
  const Duration most = std::chrono::floor<std::chrono::milliseconds>(lease / 3);
  reading.problems.push_back({.source = by_file ? beat.source : "",
                              .key = by_file ? beat.key : beat.source,
                              .message = "'" + format_duration(*worker.heartbeat) +
                                         "' is more than a third of the lease, which is " + format_duration(lease) +
                                         (worker.lease ? "" : " by default") +
                                         "; a worker that misses two beats would lose its work. Expected at most " +
                                         format_duration(most) + ", or a longer worker.lease",
                              .line = beat.line});
}

}  // namespace hapax::config
