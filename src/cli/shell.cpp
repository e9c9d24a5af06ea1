#include "cli/shell.hpp"

#include "model/validate.hpp"

#include <cstdlib>

namespace hapax::cli {
namespace {

std::string first_of(const std::string& flag, const char* variable, const char* otherwise) {
  if (!flag.empty()) { return flag; }
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

}  // namespace

Shell::Shell(const CommonOptions& options)
    : ns_(first_of(options.ns, "HAPAX_NAMESPACE", "default")),
      store_url_(first_of(options.store, "HAPAX_STORE_URL", "sqlite:hapax.db")),
      json_(options.json),
      quiet_(options.quiet) {
  model::check_name(ns_, "namespace");
}

std::shared_ptr<store::Store> Shell::shared_store() {
  if (!store_) {
    store_ = with_store_url(store_url_, [](const std::string& url) { return store::open(url); });
  }
  return store_;
}

store::Store& Shell::store() { return *shared_store(); }

model::QueueRef Shell::queue(const std::string& name) const {
  model::check_name(name, "queue");
  return {.ns = ns_, .name = name};
}

model::Execution Shell::find(const Uuid& id) {
  std::optional<model::Execution> found = store().get(id);
  if (!found || found->queue.ns != ns_) {
    throw NotFound("no execution " + id.to_string() + " in namespace '" + ns_ + "'");
  }
  return std::move(*found);
}

}  // namespace hapax::cli
