// Results of events as JSON: the API's answers and the command line's --json.
#pragma once

#include "schedule/event.hpp"
#include "schedule/event_router.hpp"

#include <cstdint>
#include <string>

namespace hapax::api {

// {"line"?,"id","source","type","runs":[{"activity","run_id","execution","created","error"}],"paused":[…]}. Line 0 is
// left out.
[[nodiscard]] std::string event_json(const schedule::Event& event, const schedule::Routed& routed, std::int64_t line);

}  // namespace hapax::api
