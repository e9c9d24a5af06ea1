// The identity of a request, its holder, and the answer an enqueue would get now. Writes nothing.
#pragma once

#include "api/request_fields.hpp"
#include "engine/catalogue_cache.hpp"
#include "model/holder.hpp"
#include "model/strategy.hpp"
#include "store/store.hpp"

#include <optional>
#include <string>

namespace hapax::api {

struct AskedIdentity {
  model::NewExecution request;
  model::IdentityRules rules;
  bool catalogued = false;
  std::string canonical;  // the canonical input, if the identity is made of it
  std::optional<model::Holding> holding;
  std::string would = "created";  // or replaced, deduplicated, or the name of the error
};

// Decides by the same rule as the stores. Throws what an enqueue would throw before its admission.
[[nodiscard]] AskedIdentity ask_identity(store::Store& store, const std::string& namespace_name,
                                         engine::CatalogueCache& catalogue, const RequestFields& fields);

// {"task","namespace","queue","strategy","catalogued","scope","task_id","canonical","identity","fingerprint","holder",
// "would"}
[[nodiscard]] std::string identity_json(const AskedIdentity& asked);

}  // namespace hapax::api
