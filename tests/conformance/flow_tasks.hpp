// The tasks of the tests. A worker that names them is given workflows too; one of any task is not.
#pragma once

#include <string>
#include <vector>

namespace hapax::conformance {

inline const std::vector<std::string> flow_tasks{"order", "work", "work0", "work1", "work2", "work3", "full", "report"};

}  // namespace hapax::conformance
