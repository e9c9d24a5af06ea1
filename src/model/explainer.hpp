// Explainer: finds the reasons for an execution's state, for explain() (model/explain.hpp). Internal to the model.
#pragma once

#include "model/explain.hpp"
#include "model/identity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hapax::model {

[[nodiscard]] inline std::string quoted(const std::string& name) { return "'" + name + "'"; }

// The duration in whole seconds.
[[nodiscard]] inline std::string about(Duration duration) {
  using std::chrono::seconds;
  return duration < seconds(1) ? "less than a second" : format_duration(std::chrono::floor<seconds>(duration));
}

// "no error was recorded", "Timeout: too slow"
[[nodiscard]] std::string error_text(const std::optional<ErrorInfo>& error);
// "1 worker", "2 workers"
[[nodiscard]] inline std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}
[[nodiscard]] inline bool is_alive(const SessionInfo& session, Time now) { return session.expires_at > now; }

// Reads the facts and writes the reasons; used once. explain_queue.cpp has the reasons why a pending execution is not
// claimed, explain_workflow.cpp what a workflow waits for.
class Explainer {
 public:
  explicit Explainer(const ExplainFacts& facts)
      : facts_(facts), e_(facts.execution), origin_(activity_origin(facts.execution)) {}

  std::vector<Reason> run();

 private:
  void add(std::string code, std::string sentence, std::string remedy = {}) {
    reasons_.push_back({std::move(code), std::move(sentence), std::move(remedy)});
  }
  [[nodiscard]] std::string retry_remedy() const;
  void pending();
  void running();
  void completed();
  void failed();
  void started_by();
  // Reports why another request was, or would be, deduplicated to this execution.
  void holds_key();
  [[nodiscard]] std::string identity_in_words() const;

  // explain_queue.cpp
  void explain_limit_key();
  // Whether no other execution of the key blocks this one, so that only the key's rate limit can.
  [[nodiscard]] bool only_key_rate_blocks() const;
  // Reports queue-wide limits that are reached.
  void limits();
  [[nodiscard]] bool workers_are_full(int limit) const;
  // Reports the rate limit if it would delay the execution behind all others that are due, as the execution may be the
  // last of them.
  void rate(const RateLimit& limit);
  void workers();
  void explain_queue_position();

  // explain_workflow.cpp
  // Reports a journal that cannot be read, which is no fault of the workflow's code or of a payload.
  [[nodiscard]] bool journal_is_unreadable();
  void waiting();
  void waiting_for(const std::vector<WorkflowWaits::Open>& open);
  [[nodiscard]] std::string described(const WorkflowWaits::Open& open) const;

  const ExplainFacts& facts_;
  const Execution& e_;
  const std::optional<RunName> origin_;
  std::vector<Reason> reasons_;
};

}  // namespace hapax::model
