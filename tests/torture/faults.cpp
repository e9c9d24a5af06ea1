#include "torture/faults.hpp"

#include "torture/plan.hpp"

#include <vector>

namespace hapax::torture {
namespace {

// Most passes before a point strikes. A child lives for about a second and passes each point tens of times.
constexpr int most_passes = 40;

std::vector<std::string> points(const std::string& store, const std::string& role) {
  if (!role.ends_with("worker")) return {store + ".admit.after_commit", store + ".admit.before_commit"};
  std::vector<std::string> names{store + ".exchange.after_commit", store + ".exchange.before_commit"};
  if (role == "engine-worker" || role == "workflow-worker") {
    names.insert(names.end(), {"engine.exchange.before", "engine.exchange.after", "engine.beat.before"});
  }
  if (role == "workflow-worker") { names.insert(names.end(), {"workflow.advance.before", "workflow.advance.after"}); }
  return names;
}

}  // namespace

std::string random_fault(base::Random& random, const std::string& store, const std::string& role) {
  const auto names = points(store, role);
  const auto& name = names[static_cast<std::size_t>(below(random, static_cast<int>(names.size())))];
  const int draw = below(random, 10);
  // After a stop beyond its lease a process may run a task that another process has ended meanwhile; the oracle does
  // not model this.
  const bool may_stop = role != "workflow-worker";
  const std::string action = draw < 6 ? "kill" : draw < 9 || !may_stop ? "throw" : "stop";
  return name + "=" + action + "@" + std::to_string(1 + below(random, most_passes));
}

std::string lost_replies(const std::string& store) {
  std::string text;
  for (int pass = 2; pass < 60; pass += 4) {
    if (!text.empty()) text += ",";
    text += store + ".exchange.after_commit=throw@" + std::to_string(pass);
  }
  return text;
}

}  // namespace hapax::torture
