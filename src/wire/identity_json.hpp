// What makes a request the same as another, who holds that, and what an enqueue would answer now. Writes nothing.
#pragma once

#include "engine/catalogue_cache.hpp"
#include "model/holder.hpp"
#include "model/strategy.hpp"
#include "store/store.hpp"
#include "wire/request.hpp"

#include <optional>
#include <string>

namespace hapax::wire {

struct AskedIdentity {
  model::NewExecution request;
  model::IdentityRules rules;
  bool catalogued = false;
  std::string canonical;  // what an identity made of the input is made of
  std::optional<model::Holding> holding;
  std::string would = "created";  // or replaced, deduplicated, the name of the error
};

// By the rule that the stores admit by. Throws what an enqueue would throw before it is admitted.
[[nodiscard]] AskedIdentity ask_identity(store::Store& store, const std::string& ns, engine::CatalogueCache& catalogue,
                                         const RequestFields& fields);

// {"task","namespace","queue","strategy","catalogued","scope","task_id","canonical","identity","fingerprint","holder",
// "would"}
[[nodiscard]] std::string identity_json(const AskedIdentity& asked);

}  // namespace hapax::wire
