// Support: the workflows of an app: their functions by name, and the ways to run them.
#pragma once

#include "engine/workflow_pool.hpp"
#include "workflow/workflow_run.hpp"

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

namespace hapax::workflow {

// Each app has one Support and shares it with its workers. Any thread may call it.
class Support final : public engine::WorkflowSupport {
 public:
  explicit Support(std::weak_ptr<Host> app)
      : app_(std::move(app)), stacks_(std::make_shared<base::StackPool>(usual_stack)) {}

  void add(const std::string& name, Function function);
  [[nodiscard]] std::shared_ptr<const Function> find(const std::string& name) const;

  [[nodiscard]] std::vector<std::string> names() const override;
  [[nodiscard]] std::vector<std::string> questions() const;
  [[nodiscard]] std::shared_ptr<engine::WorkflowPool> make_pool(PoolOptions options) override;
  [[nodiscard]] model::Finish run_here(const engine::RunPtr& run) override;

  // Replays a journal to its end without recording anything; calls `then` with the suspended run.
  struct Replayed {
    detail::WorkflowRun::Need need = detail::WorkflowRun::Need::ended;
    std::string stuck;
  };
  Replayed replay_to_end(model::Claim claim, model::History history,
                         const std::function<void(detail::WorkflowRun&)>& then);

 private:
  static constexpr std::size_t usual_stack = 256 << 10;

  [[nodiscard]] std::shared_ptr<base::StackPool> stacks() const;

  const std::weak_ptr<Host> app_;
  mutable std::shared_mutex mutex_;          // guards the members below
  std::size_t stack_ = usual_stack;          // the largest stack of any worker
  std::shared_ptr<base::StackPool> stacks_;  // stacks of stack_ bytes, for runs outside of a worker
  std::map<std::string, std::shared_ptr<const Function>> functions_;  // functions by name, also of questions
};

}  // namespace hapax::workflow
