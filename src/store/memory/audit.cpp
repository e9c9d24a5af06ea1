#include "base/limits.hpp"
#include "base/text.hpp"
#include "store/memory/verbs.hpp"

namespace hapax::store::memory {

std::vector<AuditLine> audit(const State& state, const AuditQuery& query) {
  const auto fits = [&query](const AuditLine& line) {
    return line.namespace_name == query.namespace_name && (!query.subject || line.subject == *query.subject) &&
           (!query.action || line.action == *query.action) && (!query.from || line.at >= *query.from) &&
           (!query.before || line.at < *query.before);
  };
  std::vector<AuditLine> lines;
  for (auto next = state.audit.rbegin(); next != state.audit.rend() && std::ssize(lines) < query.limit; ++next) {
    if (fits(*next)) { lines.push_back(*next); }
  }
  return lines;
}

void sweep_audit(State& state, Time now) {
  while (!state.audit.empty() && state.audit.front().at <= now - limits::audit_kept) { state.audit.pop_front(); }
}

void State::write_audit(std::string_view namespace_name, std::string_view actor, std::string action,
                        std::string subject, std::string detail, Time now) {
  audit.push_back({.at = now,
                   .namespace_name = std::string(namespace_name),
                   .actor = std::string(actor),
                   .action = std::move(action),
                   .subject = std::move(subject),
                   .detail = std::move(detail)});
}

void State::write_act(const Actor& by, std::string action, const Execution& execution, std::string_view detail,
                      Time now) {
  if (!by.is_known()) { return; }
  write_audit(execution.queue.namespace_name, by.name, std::move(action), execution.id.to_string(),
              base::escape_invalid(detail), now);
}

}  // namespace hapax::store::memory
