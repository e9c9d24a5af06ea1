// From what a caller asks for to a request the store takes: the one rule of all doors (SPEC I1–I8).
#pragma once

#include <hapax/options.hpp>
#include <hapax/task.hpp>

#include "engine/catalogue_cache.hpp"
#include "model/execution.hpp"

#include <string>

namespace hapax::engine {

// What is set on the request counts first, then the catalogue's entry, then the descriptor. Throws what cannot be.
[[nodiscard]] model::NewExecution make_request(const std::string& ns, const TaskSpec& task,
                                               const CatalogueCache::Entry& entry, std::string input,
                                               const EnqueueOptions& options);

// How a task's requests are told apart, with what its descriptor says when it is not catalogued.
[[nodiscard]] model::IdentityRules rules_for(const TaskSpec& task, const CatalogueCache::Entry& entry);

// Who holds an identity, else the latest that is kept under it: a stub (SPEC R2) holds nothing and can be read all the
// same.
[[nodiscard]] std::optional<Uuid> latest_under(store::Store& store, const std::string& ns,
                                               const base::Digest& identity);

// What was asked for, as messages tell it.
struct Asking {
  std::string_view task;
  std::string_view key;  // empty: an identity made of the input
  model::Kind kind = model::Kind::task;
  model::IdentityMode mode = model::IdentityMode::hold;
};
[[nodiscard]] Asking asking_of(const model::NewExecution& request);  // views into it

// Throws the error of SPEC I9 to I11 for a refused admission; returns for created and deduplicated.
void throw_if_refused(const model::Admission& admission, const Asking& asking);

}  // namespace hapax::engine
