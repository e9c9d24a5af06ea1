// WorkerState: the parts that a hapax::Worker owns: the engine's worker, and the listener that must not be called after
// the worker's end.
#pragma once

#include "engine/trouble_listener.hpp"
#include "engine/worker.hpp"

#include <memory>

namespace hapax::detail {

class WorkerState {
 public:
  void forget_listener() const {
    if (trouble) { trouble->forget(); }
  }

  // Shared with the app, so that tasks registered later reach the worker.
  std::shared_ptr<engine::Worker> worker;
  std::shared_ptr<engine::TroubleListener> trouble;  // null: this worker runs no schedules
};

}  // namespace hapax::detail
