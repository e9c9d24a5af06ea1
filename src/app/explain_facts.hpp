// Gathers from the store the facts that explain() needs about an execution.
#pragma once

#include "model/explain.hpp"
#include "store/store.hpp"

namespace hapax::app {

// `execution` must outlive the facts. Four reads, six for a workflow.
[[nodiscard]] model::ExplainFacts gather_facts(store::Store& store, const model::Execution& execution);

}  // namespace hapax::app
