#include "engine/outcome_policy.hpp"

#include "base/plain_path.hpp"

#include <algorithm>

namespace hapax::engine {

namespace {

constexpr std::size_t worth_halving = 16;

// A workflow that only waits does not count: no caller waits for that outcome.
bool is_ended_workflow(const Settled& settled) {
  return settled.run->claim().kind == model::Kind::workflow &&
         !(settled.finish && settled.finish->kind == model::FinishKind::waiting);
}

}  // namespace

OutcomePolicy::Rules OutcomePolicy::usual_rules() {
  static const Rules rules{.halving = !base::takes_plain_path("outcome-halving")};
  return rules;
}

std::size_t OutcomePolicy::share(std::span<const Settled> pending, int under_way, int tasks) {
  if (!rules_.halving || !remote_) { return pending.size(); }
  const std::size_t present = pending.size() + static_cast<std::size_t>(under_way);
  population_ = std::max(present, population_ - population_ / 16);
  const bool all_at_once =
      under_way == 0 && tasks == 0 && pending.size() >= worth_halving && 4 * pending.size() >= 3 * population_;
  return all_at_once && std::ranges::all_of(pending, is_ended_workflow) ? pending.size() / 2 : pending.size();
}

}  // namespace hapax::engine
