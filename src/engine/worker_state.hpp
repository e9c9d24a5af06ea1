// What a hapax::Worker has: the engine's worker, and the listener that must not be called once it is gone.
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

  // Shared, so that tasks registered later reach it.
  std::shared_ptr<engine::Worker> worker;
  std::shared_ptr<engine::TroubleListener> trouble;  // none: it does not see to schedules
};

}  // namespace hapax::detail
