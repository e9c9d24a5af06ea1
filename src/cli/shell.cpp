#include "cli/shell.hpp"

#include <hapax/version.hpp>

#include "api/remote_work_store.hpp"
#include "app/configuration.hpp"
#include "base/payload_limit.hpp"
#include "base/secret_file.hpp"
#include "base/text.hpp"
#include "cli/backend.hpp"
#include "engine/engine.hpp"
#include "http/client.hpp"
#include "model/validate.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace hapax::cli {
namespace {

constexpr const char* usual_path = "hapax.toml";

bool is_absent(const std::string& path) { return access(path.c_str(), F_OK) != 0; }

std::string user_name() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return std::to_string(geteuid());
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

// A token is one word; blanks and newlines after it are removed.
std::string checked_token(std::string text, const std::string& from) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  text.erase(end == std::string::npos ? 0 : end + 1);
  const auto is_odd = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) > 126;
  };
  if (text.empty() || std::any_of(text.begin(), text.end(), is_odd)) {
    throw ConfigurationError(from + ": has no token; expected one line, as hapax token create prints it");
  }
  return text;
}

bool is_of_file(const config::Stated* stated) { return stated != nullptr && stated->line > 0; }

}  // namespace

std::string user_at_host() { return base::printable(user_name() + "@" + host_name()); }

std::string command_line_actor() { return std::string(command_line_channel) + " (" + user_at_host() + ")"; }

Shell::Shell(CommonOptions options, std::string command, MissingStore missing_store)
    : options_(std::move(options)), command_(std::move(command)), missing_store_(missing_store) {
  if (!options_.namespace_name.empty()) { model::check_name(options_.namespace_name, "namespace"); }
  if (!options_.server.empty() && !options_.store.empty()) {
    throw BadUsage("--server and --store are given; expected one of them: who is to answer");
  }
}

Shell::~Shell() = default;

void Shell::name_configuration(const std::string& path) {
  if (!path.empty()) { options_.config = path; }
}

std::string Shell::config_path() const {
  if (!options_.config.empty()) {
    if (is_absent(options_.config)) {
      throw MissingFile("cannot read " + base::echo(options_.config) + ": " + std::strerror(errno));
    }
    return options_.config;
  }
  const char* variable = std::getenv("HAPAX_CONFIG");
  if (variable != nullptr && *variable != '\0') {
    if (is_absent(variable)) {
      throw ConfigurationError("HAPAX_CONFIG: cannot read " + base::echo(variable) + ": " + std::strerror(errno));
    }
    return variable;
  }
  return is_absent(usual_path) ? "" : usual_path;
}

const config::Config& Shell::configuration() const {
  if (!configuration_) {
    configuration_ = config::require_good(app::read_configuration(config_path(), config::process_environment()));
    if (configuration_->payload_limit) { base::set_payload_limit(*configuration_->payload_limit); }
  }
  return *configuration_;
}

std::size_t Shell::payload_limit() const {
  (void)configuration();
  return base::payload_limit();
}

const std::string& Shell::namespace_name() const {
  if (namespace_name_.empty()) {
    namespace_name_ =
        options_.namespace_name.empty() ? configuration().namespace_name.value_or("default") : options_.namespace_name;
  }
  return namespace_name_;
}

// Flags override the environment, and the environment overrides the file. If the file names a server and a store, the
// server counts.
const std::string& Shell::server_url() const {
  if (server_url_) { return *server_url_; }
  server_url_ = options_.server;
  if (!options_.server.empty() || !options_.store.empty()) { return *server_url_; }
  const config::Config& checked = configuration();
  if (!checked.server_url) { return *server_url_; }
  const config::Stated* const server = checked.find("server.url");
  const config::Stated* const store = checked.find("store.url");
  const bool store_is_of_environment = store != nullptr && !is_of_file(store);
  if (!is_of_file(server) && store_is_of_environment) {
    throw ConfigurationError(server->source + " and " + store->source +
                             " are both set; expected one of them: who is to answer");
  }
  if (!is_of_file(server) || !store_is_of_environment) { server_url_ = *checked.server_url; }
  return *server_url_;
}

const std::shared_ptr<http::ApiClient>& Shell::api() {
  if (api_) { return api_; }
  http::ApiClientOptions asking{.url = http::parse_server_url(server_url()),
                                .token = {},
                                .namespace_name = {},
                                .ca_file = options_.ca_file,
                                .agent = std::string("hapax/") + HAPAX_VERSION};
  require_file(options_.ca_file, "--ca-file");
  require_file(options_.token_file, "--token-file");
  const char* const variable = std::getenv("HAPAX_TOKEN");
  const config::Config& checked = configuration();
  if (asking.ca_file.empty()) { asking.ca_file = checked.server_ca_file.value_or(""); }
  if (!options_.token_file.empty()) {
    asking.token = checked_token(base::read_secret_file(options_.token_file), options_.token_file);
  } else if (variable != nullptr && *variable != '\0') {
    asking.token = checked_token(variable, "HAPAX_TOKEN");
  } else if (checked.server_token_file) {
    asking.token = checked_token(base::read_secret_file(*checked.server_token_file), *checked.server_token_file);
  }
  if (asking.token.empty()) {
    asking.namespace_name = namespace_name();
  } else if (!options_.namespace_name.empty()) {
    throw BadUsage("--namespace beside a token: the token says the namespace; leave one of them out");
  }
  api_ = std::make_shared<http::ApiClient>(std::move(asking));
  return api_;
}

Backend& Shell::backend() {
  if (!backend_) {
    backend_ = std::make_unique<Backend>(server_url().empty() ? local_transport(*this) : server_transport(api()));
  }
  return *backend_;
}

const std::string& Shell::store_url() const {
  // A file may name a server and a store, for a machine that runs a server and its clients: commands on the store then
  // use the store.
  if (!server_url().empty() && (!options_.server.empty() || !is_of_file(configuration().find("server.url")))) {
    throw BadUsage((command_.empty() ? "this" : "hapax " + command_) + " works on the store itself; use --store URL");
  }
  if (store_url_.empty()) {
    store_url_ = options_.store.empty() ? configuration().store_url.value_or("sqlite:hapax.db") : options_.store;
  }
  return store_url_;
}

void Shell::use_configuration() {
  if (!server_url().empty()) { return; }
  const config::Config& configuration_now = configuration();
  const std::string from = configuration_now.path.empty() ? "the environment" : configuration_now.path;
  engine::Engine engine(shared_store());
  app::apply_configuration_at_start(engine, namespace_name(), configuration_now,
                                    "start with " + from + " (" + user_at_host() + ")");
}

std::shared_ptr<store::Store> Shell::shared_store() {
  if (!store_) {
    // The configuration is read even when neither URL nor namespace comes from it, because no command opens a store
    // with an invalid configuration.
    const config::Config& checked = configuration();
    try {
      const store::OpenOptions options{.must_exist = missing_store_ != MissingStore::make,
                                       .encryption_key_file = checked.encryption_key_file.value_or("")};
      store_ = with_store_url(store_url(), [&options](const std::string& url) { return store::open(url, options); });
    } catch (const NotFound&) {
      if (missing_store_ != MissingStore::imagine) { throw; }
      store_ = store::open("memory:");
    } catch (const ConfigurationError& error) {
      const std::string source = options_.store.empty() ? checked.source_of("store.url") : "";
      if (source.empty()) { throw; }
      throw ConfigurationError(source + ": " + error.what());
    }
  }
  return store_;
}

std::shared_ptr<store::WorkStore> Shell::work_store() {
  if (server_url().empty()) { return shared_store(); }
  return std::make_shared<api::RemoteWorkStore>(api());
}

store::Store& Shell::store() { return *shared_store(); }

model::QueueRef Shell::queue(const std::string& name) const {
  model::check_name(name, "queue");
  return {.namespace_name = namespace_name(), .name = name};
}

}  // namespace hapax::cli
