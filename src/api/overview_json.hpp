// Overview: the queues, workers and newest failures of a namespace at one instant. `hapax top` and GET /v1/overview
// show an overview.
#pragma once

#include "model/execution.hpp"
#include "store/store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hapax::api {

struct Overview {
  Time at{};  // the store's clock
  std::string namespace_name;
  std::vector<model::QueueInfo> queues;      // by name
  std::vector<model::SessionInfo> sessions;  // sessions that serve the namespace, with its queues alone; by worker
  std::vector<model::Execution> failures;    // failed or timed out, newest first, without payloads
};

// Reads the overview in a few cheap statements; throws what the store throws. Any thread.
[[nodiscard]] Overview take_overview(store::Store& store, const std::string& namespace_name);
// {"at","namespace","queues":[…],"sessions":[…],"failures":[…]}
[[nodiscard]] std::string overview_json(const Overview& overview);
// Throws BadAnswer.
[[nodiscard]] Overview read_overview(std::string_view document);

}  // namespace hapax::api
