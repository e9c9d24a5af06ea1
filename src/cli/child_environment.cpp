#include "cli/child_environment.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"
#include "model/effect_key.hpp"

#include <algorithm>
#include <array>

namespace hapax::cli {
namespace {

constexpr std::string_view own_prefix = "HAPAX_";

// The variables of the protocol: each describes the execution; a value of the worker is never passed on.
constexpr std::array<std::string_view, 11> of_protocol = {"HAPAX_EXECUTION_ID", "HAPAX_TASK",      "HAPAX_QUEUE",
                                                          "HAPAX_NAMESPACE",    "HAPAX_ATTEMPT",   "HAPAX_MAX_ATTEMPTS",
                                                          "HAPAX_RUN",          "HAPAX_FENCE",     "HAPAX_EFFECT_KEY",
                                                          "HAPAX_TRACEPARENT",  "HAPAX_TRACESTATE"};

// libpq takes the store's password from this variable, so it counts as hapax's own.
constexpr std::string_view store_password = "PGPASSWORD";

bool is_own(std::string_view name) { return name.starts_with(own_prefix) || name == store_password; }

}  // namespace

ChildEnvironment::ChildEnvironment(const char* const* entries, const std::vector<std::string>& passed) {
  for (; *entries != nullptr; ++entries) {
    const std::string_view entry(*entries);
    const std::string_view name = entry.substr(0, entry.find('='));
    const bool is_passed = std::find(passed.begin(), passed.end(), name) != passed.end();
    if (is_passed || !is_own(name)) { kept_.emplace_back(entry); }
  }
}

std::vector<std::string> ChildEnvironment::of(const model::Claim& claim) const {
  std::vector<std::string> all = {
      "HAPAX_EXECUTION_ID=" + claim.id.to_string(),
      "HAPAX_TASK=" + claim.task,
      "HAPAX_QUEUE=" + claim.queue.name,
      "HAPAX_NAMESPACE=" + claim.queue.namespace_name,
      "HAPAX_ATTEMPT=" + std::to_string(claim.attempt),
      "HAPAX_MAX_ATTEMPTS=" + std::to_string(claim.max_attempts),
      "HAPAX_RUN=" + std::to_string(claim.run),
      "HAPAX_FENCE=" + std::to_string(claim.fence),
      "HAPAX_EFFECT_KEY=" + model::effect_key(claim),
  };
  if (!claim.labels.traceparent.empty()) { all.push_back("HAPAX_TRACEPARENT=" + claim.labels.traceparent); }
  if (!claim.labels.tracestate.empty()) { all.push_back("HAPAX_TRACESTATE=" + claim.labels.tracestate); }
  all.insert(all.end(), kept_.begin(), kept_.end());
  return all;
}

void check_passed_name(const std::string& name) {
  if (name.empty() || name.find('=') != std::string::npos) {
    throw InvalidArgument("pass-env", base::quoted(name) + " is no variable's name; expected one such as HAPAX_TOKEN");
  }
  if (std::find(of_protocol.begin(), of_protocol.end(), name) != of_protocol.end()) {
    throw InvalidArgument("pass-env", base::quoted(name) +
                                          " is set for each execution; expected a variable of the worker's own, such "
                                          "as HAPAX_TOKEN");
  }
}

}  // namespace hapax::cli
