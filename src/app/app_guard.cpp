#include <hapax/guard_store.hpp>

#include "app/app_state.hpp"
#include "guard/execution_store.hpp"
#include "guard/fork.hpp"

namespace hapax {

GuardStorePtr guard_store(const App& app) {
  const std::shared_ptr<engine::Engine> engine = app.state()->shared_engine();
  const std::uint64_t generation = guard::process_generation();
  return std::make_shared<guard::ExecutionStore>([engine, generation] {
    if (guard::process_generation() != generation) {
      throw UsageError("an app's guard store was used in a forked child; open one there with open_guard_store");
    }
    return std::shared_ptr<store::Store>(engine, &engine->store());
  });
}

}  // namespace hapax
