// Host: the interface through which workflows call the app that runs them.
#pragma once

#include <hapax/options.hpp>
#include <hapax/task.hpp>
#include <hapax/transaction.hpp>

#include "model/execution.hpp"
#include "model/turn.hpp"

#include <functional>
#include <memory>
#include <string>

namespace hapax::engine {
class Engine;
}
namespace hapax::store {
class Store;
}

namespace hapax::workflow {

class Support;

// Any thread may call a Host. Its workflows hold a weak pointer, or a shared one for as long as a run lasts.
class Host {
 public:
  virtual ~Host() = default;
  [[nodiscard]] virtual engine::Engine& engine() = 0;
  [[nodiscard]] virtual store::Store& store() = 0;
  [[nodiscard]] virtual const std::string& namespace_name() const = 0;
  // The checked request for a task or a child that a run starts. Declares nothing in the catalogue.
  [[nodiscard]] virtual model::NewExecution request_of_run(const TaskSpec& task, std::string input,
                                                           const EnqueueOptions& options, model::Kind kind) = 0;
  // Runs `body` in a transaction of the store and writes in it the turn that `body` returns.
  virtual void transaction(const std::function<model::Advance(Transaction&)>& body) = 0;
  // Returns the functions of the app's workflows; made at the first call.
  [[nodiscard]] virtual std::shared_ptr<Support> support() = 0;
};

}  // namespace hapax::workflow
