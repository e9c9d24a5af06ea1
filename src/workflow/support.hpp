// The workflows of an app: their functions by name, and the ways to run them.
#pragma once

#include "engine/workflow_pool.hpp"
#include "workflow/workflow_run.hpp"

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

namespace hapax::workflow {

// One to an app, shared with its workers. Any thread.
class Support final : public engine::WorkflowSupport {
 public:
  explicit Support(std::weak_ptr<detail::AppState> app)
      : app_(std::move(app)), stacks_(std::make_shared<StackPool>(usual_stack)) {}

  void add(const std::string& name, Function function);
  [[nodiscard]] std::shared_ptr<const Function> find(const std::string& name) const;

  [[nodiscard]] std::vector<std::string> names() const override;
  [[nodiscard]] std::vector<std::string> questions() const;
  [[nodiscard]] std::shared_ptr<engine::WorkflowPool> make_pool(PoolOptions options) override;
  [[nodiscard]] model::Finish run_here(const engine::RunPtr& run) override;

  // Plays a journal as far as it goes, records nothing; calls `then` with the suspended run.
  struct Played {
    detail::WorkflowRun::Need need = detail::WorkflowRun::Need::ended;
    std::string stuck;
  };
  Played play(model::Claim claim, model::History history, const std::function<void(detail::WorkflowRun&)>& then);

 private:
  static constexpr std::size_t usual_stack = 256 << 10;

  [[nodiscard]] std::shared_ptr<StackPool> stacks() const;

  const std::weak_ptr<detail::AppState> app_;
  mutable std::shared_mutex mutex_;    // guards what follows
  std::size_t stack_ = usual_stack;    // the most that a worker was told
  std::shared_ptr<StackPool> stacks_;  // of that size, for what is run outside of a worker
  std::map<std::string, std::shared_ptr<const Function>> functions_;  // of questions too
};

// The app's; made when first asked for.
[[nodiscard]] std::shared_ptr<Support> support_of(const std::shared_ptr<detail::AppState>& app);

}  // namespace hapax::workflow
