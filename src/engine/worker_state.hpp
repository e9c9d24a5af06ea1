// WorkerState: the parts that a hapax::Worker owns: the engine's worker, and a reference of the program to the app.
#pragma once

#include "engine/worker.hpp"

#include <memory>

namespace hapax::detail {

class AppState;

class WorkerState {
 public:
  std::shared_ptr<AppState> app;  // the app's log ends after the worker; null in a supervised process
  // Shared with the app, so that tasks registered later reach the worker.
  std::shared_ptr<engine::Worker> worker;
};

}  // namespace hapax::detail
