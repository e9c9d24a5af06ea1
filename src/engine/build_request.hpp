// Turns an enqueue call into the request that the store takes, and checks it. The library, the API, the command line and
// running workflows all make their requests here (docs/concepts/identity.md).
#pragma once

#include <hapax/options.hpp>
#include <hapax/task.hpp>

#include "engine/catalogue_cache.hpp"
#include "model/execution.hpp"

#include <string>

namespace hapax::engine {

// All that a request is made of.
struct RequestParts {
  const std::string& namespace_name;
  const TaskSpec& task;
  const CatalogueCache::Entry& entry;
  std::string input;
  const EnqueueOptions& options;
  model::Kind kind = model::Kind::task;
  std::string metadata = {};  // a JSON object as text, or empty; instead of options.metadata
  std::string actor = {};     // the caller, for the audit; empty: none
};

// A setting of the request counts first, then the catalogue's entry, then the descriptor. The request is checked whole
// (model/validate.hpp); callers may admit it as it is. Throws the typed error that names the field.
[[nodiscard]] model::NewExecution make_request(RequestParts parts);

// The identity rules of a task: the catalogue's entry, or the descriptor if the task is not catalogued.
[[nodiscard]] model::IdentityRules rules_for(const TaskSpec& task, const CatalogueCache::Entry& entry);

// Returns the execution that holds the identity, else the newest one that is kept under it. (With retention 0 a
// finished execution no longer holds its identity, but can still be read for 10 minutes.)
[[nodiscard]] std::optional<Uuid> latest_under(store::Store& store, const std::string& namespace_name,
                                               const base::Digest& identity);

}  // namespace hapax::engine
