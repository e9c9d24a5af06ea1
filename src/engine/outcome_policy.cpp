#include "engine/outcome_policy.hpp"

#include "base/plain_path.hpp"

#include <algorithm>

namespace hapax::engine {

namespace {

constexpr std::size_t worth_halving = 16;
constexpr std::ptrdiff_t crowd_min = 8;
constexpr Duration crowd_lately = std::chrono::milliseconds(10);
constexpr Duration company_wait_max = std::chrono::milliseconds(1);

// A workflow that only waits does not count: no caller waits for that outcome.
bool is_ended_workflow(const Settled& settled) {
  return settled.run->claim().kind == model::Kind::workflow &&
         !(settled.finish && settled.finish->kind == model::FinishKind::waiting);
}

}  // namespace

OutcomePolicy::Rules OutcomePolicy::usual_rules() {
  static const Rules rules{.company = !base::takes_plain_path("outcome-company"),
                           .halving = !base::takes_plain_path("outcome-halving")};
  return rules;
}

Time OutcomePolicy::wait_until(std::span<const Settled> pending, int under_way, Time now) {
  if (!rules_.company || remote_ || pending.empty() || std::ssize(pending) >= under_way ||
      now - crowd_at_ > crowd_lately || !std::ranges::all_of(pending, is_ended_workflow)) {
    return now;
  }
  if (company_until_ == Time{}) { company_until_ = now + company_wait_; }
  return company_until_;
}

std::size_t OutcomePolicy::share(std::span<const Settled> pending, int under_way, int tasks) {
  if (!rules_.halving || !remote_) { return pending.size(); }
  const std::size_t present = pending.size() + static_cast<std::size_t>(under_way);
  population_ = std::max(present, population_ - population_ / 16);
  const bool all_at_once =
      under_way == 0 && tasks == 0 && pending.size() >= worth_halving && 4 * pending.size() >= 3 * population_;
  return all_at_once && std::ranges::all_of(pending, is_ended_workflow) ? pending.size() / 2 : pending.size();
}

void OutcomePolicy::sent(std::span<const Settled> outcomes, int under_way, Time now, Duration took) {
  company_until_ = {};
  const auto count = std::ranges::count_if(outcomes, is_ended_workflow);
  if (count < crowd_min || count < under_way) { return; }
  crowd_at_ = now + took;
  company_wait_ = std::min(took, company_wait_max);
}

}  // namespace hapax::engine
