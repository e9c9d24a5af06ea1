// Shell: what every command is given. The common options, the configuration, read when first needed, and what answers:
// the store, or a server, opened when first asked for.
//
// Owned by main, used by one command on the main thread (`work` hands the store on to its worker).
#pragma once

#include <hapax/uuid.hpp>

#include "cli/problem.hpp"
#include "config/config.hpp"
#include "store/open.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hapax {
class App;
}

namespace hapax::client {
class ApiClient;
}

namespace hapax::cli {

class Backend;

// What becomes of a store that is not there.
enum class MissingStore : std::uint8_t {
  refuse,   // NotFound: most commands look for one, and a mistyped name must not make another
  make,     // by enqueue, start, work, serve, activity apply, token create, queue set, config apply, and with --create
  imagine,  // an empty one is looked at in its place: a dry run of what would make it
};

struct CommonOptions {
  std::string store;       // --store; empty: HAPAX_STORE_URL, else [store] url, else sqlite:hapax.db
  std::string server;      // --server; empty: HAPAX_SERVER_URL, else [server] url, else the store itself
  std::string token_file;  // --token-file; empty: HAPAX_TOKEN, else [server] token_file, else no token
  std::string ca_file;     // --ca-file; empty: [server] ca_file, else the system's certificates
  std::string ns;          // --namespace; empty: HAPAX_NAMESPACE, else the file's, else "default"
  std::string config;      // --config; empty: HAPAX_CONFIG, else hapax.toml if it is in this folder
  bool json = false;
  bool quiet = false;  // no progress, no remarks; results and errors only
};

class Shell {
 public:
  // Throws InvalidArgument for a namespace that cannot be one, BadUsage for a store and a server at once. `command` is how
  // messages call it: "queue list".
  explicit Shell(CommonOptions options, std::string command = {}, MissingStore missing_store = MissingStore::refuse);
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;
  ~Shell();
  // Another one of the same options, which has read and opened nothing yet.
  [[nodiscard]] Shell fresh() const { return Shell(options_, command_, missing_store_); }

  // Before the store is asked for.
  void when_store_is_missing(MissingStore then) { missing_store_ = then; }

  // Both throw what configuration() throws.
  [[nodiscard]] const std::string& ns() const;
  [[nodiscard]] const std::string& store_url() const;
  [[nodiscard]] bool json() const { return options_.json; }
  [[nodiscard]] bool quiet() const { return options_.quiet; }

  // The configuration's file as an argument of the command names it, before anything is asked of it; empty: no matter.
  void name_configuration(const std::string& path);
  // The path of the configuration in use; empty: there is none. Throws MissingFile for a file that the command line names
  // and that is not there, ConfigurationError for one that HAPAX_CONFIG names.
  [[nodiscard]] std::string config_path() const;
  // What the file and the environment say. Throws ConfigurationError for the first of its problems.
  [[nodiscard]] const config::Config& configuration() const;
  // Of an input or a result, as configured. Throws what configuration() throws.
  [[nodiscard]] std::size_t payload_limit() const;
  // Brings the configuration into the store, unless it is the one that was applied there last; a server has its own. For
  // commands that enqueue or work, before they do.
  void use_configuration();

  // What answers: the store, or the server that the command line, the environment or the file names.
  [[nodiscard]] Backend& backend();
  // The server's URL; empty: the store itself answers.
  [[nodiscard]] const std::string& server_url() const;
  // Asks the server. Throws ConfigurationError for a token or certificate file that cannot be read.
  [[nodiscard]] const std::shared_ptr<client::ApiClient>& api();

  // Throws ConfigurationError for a URL that is none, StoreUnavailable, SchemaMismatch, NotFound as when_store_is_missing
  // says; BadUsage when a server is named.
  [[nodiscard]] store::Store& store();
  [[nodiscard]] std::shared_ptr<store::Store> shared_store();

  // What a worker claims from: the store, or the server's worker protocol in the shape of one.
  [[nodiscard]] std::shared_ptr<store::Store> work_store();

  // The same store and namespace, as programs use them (hapax/app.hpp).
  [[nodiscard]] App app();

  // The queue of that name in the shell's namespace; throws InvalidArgument for a name that cannot be one.
  [[nodiscard]] model::QueueRef queue(const std::string& name) const;

 private:
  CommonOptions options_;
  // Made from the options when first needed, so that a bad file does not stop the commands that look at it.
  mutable std::optional<config::Config> configuration_;
  mutable std::string ns_;
  mutable std::string store_url_;
  mutable std::optional<std::string> server_url_;
  std::string command_;
  MissingStore missing_store_;
  std::shared_ptr<store::Store> store_;
  std::shared_ptr<client::ApiClient> api_;
  std::unique_ptr<Backend> backend_;
};

// Who acts, for the audit: "command line (ada@host)".
[[nodiscard]] std::string command_line_actor();

// Calls `fn` with a store URL; what it throws about the URL becomes ConfigurationError.
template <class Function>
auto with_store_url(const std::string& url, Function fn) {
  try {
    return fn(url);
  } catch (const InvalidArgument& error) { throw ConfigurationError(error.what()); }
}

}  // namespace hapax::cli
