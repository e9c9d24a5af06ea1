// All task names of the tests. A worker that names its tasks also gets workflows; a worker without names gets tasks
// only.
#pragma once

#include <string>
#include <vector>

namespace hapax::conformance {

inline const std::vector<std::string> flow_tasks{"order", "work", "work0", "work1", "work2", "work3", "full", "report"};

}  // namespace hapax::conformance
