// Shell: gives a command the common options, the configuration, which is read when first needed, and the store or
// server, which is opened when first needed.
//
// Commands::run makes a Shell for one command, which uses it on the main thread (`work` passes the store on to its
// worker).
#pragma once

#include <hapax/uuid.hpp>

#include "app/config/config.hpp"
#include "cli/problem.hpp"
#include "store/open.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace hapax::http {
class ApiClient;
}

namespace hapax::cli {

class Backend;

// How a command treats a store that does not exist.
enum class MissingStore : std::uint8_t {
  refuse,   // throw NotFound: most commands, as a mistyped name must not make a store
  make,     // make it: enqueue, start, work, serve, activity apply, token create, queue set, config apply, --create
  imagine,  // use an empty store in memory: a dry run of a command that would make it
};

struct CommonOptions {
  std::string store;           // --store; empty: HAPAX_STORE_URL, else [store] url, else sqlite:hapax.db
  std::string server;          // --server; empty: HAPAX_SERVER_URL, else [server] url, else the store itself
  std::string token_file;      // --token-file; empty: HAPAX_TOKEN, else [server] token_file, else no token
  std::string ca_file;         // --ca-file; empty: [server] ca_file, else the system's certificates
  std::string namespace_name;  // --namespace; empty: HAPAX_NAMESPACE, else the file's, else "default"
  std::string config;          // --config; empty: HAPAX_CONFIG, else hapax.toml in this folder, if there is one
  bool json = false;
  bool quiet = false;  // no progress, no remarks; results and errors only
};

class Shell {
 public:
  // Throws InvalidArgument for an invalid namespace, BadUsage for a store and a server at once. `command` is the name
  // of the command in messages: "queue list".
  explicit Shell(CommonOptions options, std::string command = {}, MissingStore missing_store = MissingStore::refuse);
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;
  ~Shell();
  // A new shell with the same options, which has read and opened nothing yet.
  [[nodiscard]] Shell fresh() const { return Shell(options_, command_, missing_store_); }

  // Call this before the store is opened.
  void when_store_is_missing(MissingStore then) { missing_store_ = then; }

  // namespace_name() and store_url() throw what configuration() throws; store_url() throws BadUsage when a server is named.
  [[nodiscard]] const std::string& namespace_name() const;
  [[nodiscard]] const std::string& store_url() const;
  [[nodiscard]] bool json() const { return options_.json; }
  [[nodiscard]] bool quiet() const { return options_.quiet; }

  // Sets the configuration file that the command's FILE argument names; an empty path changes nothing. Call this before
  // the configuration is read.
  void name_configuration(const std::string& path);
  // The path of the configuration in use; empty if there is none. Throws MissingFile for a file of the command line
  // that does not exist, ConfigurationError for one of HAPAX_CONFIG.
  [[nodiscard]] std::string config_path() const;
  // The values of the file and the environment. Throws ConfigurationError for the first of its problems.
  [[nodiscard]] const config::Config& configuration() const;
  // The configured limit of an input or a result, in bytes. Throws what configuration() throws.
  [[nodiscard]] std::size_t payload_limit() const;
  // Applies the configuration to the store, unless it is the one that was applied there last. Does nothing with a
  // server, which has a configuration of its own. Commands that enqueue or work call this first.
  void use_configuration();

  // The API's routes: on the store, or on the server that the command line, the environment or the file names.
  [[nodiscard]] Backend& backend();
  // The server's URL; empty: commands use the store itself.
  [[nodiscard]] const std::string& server_url() const;
  // The client for the server. Throws ConfigurationError for a token or certificate file that cannot be used,
  // MissingFile for a missing file of the command line, BadUsage for --namespace beside a token.
  [[nodiscard]] const std::shared_ptr<http::ApiClient>& api();

  // Throws ConfigurationError for an invalid URL, StoreUnavailable, SchemaMismatch, NotFound as when_store_is_missing()
  // sets, and BadUsage when a server is named.
  [[nodiscard]] store::Store& store();
  [[nodiscard]] std::shared_ptr<store::Store> shared_store();

  // The store that a worker claims from; with a server, the worker protocol in the shape of a store.
  [[nodiscard]] std::shared_ptr<store::WorkStore> work_store();

  // The queue of that name in the shell's namespace. Throws InvalidArgument for an invalid name.
  [[nodiscard]] model::QueueRef queue(const std::string& name) const;

 private:
  CommonOptions options_;
  // Read when first needed, so that an invalid file does not stop the commands that examine it.
  mutable std::optional<config::Config> configuration_;
  mutable std::string namespace_name_;
  mutable std::string store_url_;
  mutable std::optional<std::string> server_url_;
  std::string command_;
  MissingStore missing_store_;
  std::shared_ptr<store::Store> store_;
  std::shared_ptr<http::ApiClient> api_;
  std::unique_ptr<Backend> backend_;
};

// The actor for the audit: "command line (ada@host)".
inline constexpr std::string_view command_line_channel = "command line";
[[nodiscard]] std::string user_at_host();
[[nodiscard]] std::string command_line_actor();

// Calls `fn` with a store URL, and turns an InvalidArgument that it throws into ConfigurationError.
template <class Function>
auto with_store_url(const std::string& url, Function fn) {
  try {
    return fn(url);
  } catch (const InvalidArgument& error) { throw ConfigurationError(error.what()); }
}

}  // namespace hapax::cli
