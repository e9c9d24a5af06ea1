// WorkerState: the part that a hapax::Worker owns: the engine's worker.
#pragma once

#include "engine/worker.hpp"

#include <memory>

namespace hapax::detail {

class WorkerState {
 public:
  // Shared with the app, so that tasks registered later reach the worker.
  std::shared_ptr<engine::Worker> worker;
};

}  // namespace hapax::detail
