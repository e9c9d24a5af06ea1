// Shell: what every command is given. The common options, and the store, opened when first asked for.
//
// Owned by main, used by one command on the main thread (`work` hands the store on to its worker).
#pragma once

#include <hapax/uuid.hpp>

#include "cli/problem.hpp"
#include "store/open.hpp"

#include <memory>
#include <string>

namespace hapax::cli {

struct CommonOptions {
  std::string store;  // --store; empty: HAPAX_STORE_URL, else sqlite:hapax.db
  std::string ns;     // --namespace; empty: HAPAX_NAMESPACE, else "default"
  bool json = false;
  bool quiet = false;  // no progress, no remarks; results and errors only
};

class Shell {
 public:
  // Throws InvalidArgument for a namespace that cannot be one.
  explicit Shell(const CommonOptions& options);

  [[nodiscard]] const std::string& ns() const { return ns_; }
  [[nodiscard]] const std::string& store_url() const { return store_url_; }
  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] bool quiet() const { return quiet_; }

  // Throws BadConfiguration for a URL that is none, StoreUnavailable, SchemaMismatch.
  [[nodiscard]] store::Store& store();
  [[nodiscard]] std::shared_ptr<store::Store> shared_store();

  // The queue of that name in the shell's namespace; throws InvalidArgument for a name that cannot be one.
  [[nodiscard]] model::QueueRef queue(const std::string& name) const;
  // The execution of that id, if it is in the shell's namespace; else throws NotFound.
  [[nodiscard]] model::Execution find(const Uuid& id);

 private:
  std::string ns_;
  std::string store_url_;
  bool json_;
  bool quiet_;
  std::shared_ptr<store::Store> store_;
};

// Calls `fn` with a store URL; what it throws about the URL becomes BadConfiguration.
template <class Function>
auto with_store_url(const std::string& url, Function fn) {
  try {
    return fn(url);
  } catch (const InvalidArgument& error) { throw BadConfiguration(error.what()); }
}

}  // namespace hapax::cli
