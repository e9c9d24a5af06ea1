// What explain needs to know of an execution, gathered from the store.
#pragma once

#include "model/explain.hpp"
#include "store/store.hpp"

namespace hapax::engine {

// `execution` must outlive what is returned. Four reads, six of a workflow.
[[nodiscard]] model::ExplainFacts gather_facts(store::Store& store, const model::Execution& execution);

}  // namespace hapax::engine
