#include "model/explain.hpp"

#include "model/explainer.hpp"

#include <algorithm>

namespace hapax::model {

std::string error_text(const std::optional<ErrorInfo>& error) {
  if (!error) { return "no error was recorded"; }
  return error->type.empty() ? error->message : error->type + ": " + error->message;
}

std::vector<Reason> Explainer::run() {
  switch (e_.status) {
    case Status::pending: pending(); break;
    case Status::running: running(); break;
    case Status::completed: completed(); break;
    case Status::failed: failed(); break;
    case Status::cancelled: add("cancelled", "It was cancelled: " + error_text(e_.error) + ".", retry_remedy()); break;
    case Status::timed_out: add("timed_out", "It timed out: " + error_text(e_.error) + ".", retry_remedy()); break;
  }
  if (origin_) { started_by(); }
  if (e_.status == Status::completed || !is_terminal(e_.status)) { holds_key(); }
  return std::move(reasons_);
}

std::string Explainer::retry_remedy() const {
  return e_.retried_as ? "" : "hapax retry " + e_.id.to_string() + " makes a new run of it.";
}

void Explainer::pending() {
  if (e_.deadline && *e_.deadline <= facts_.now) {
    add("deadline_passed", "Its deadline has passed; the next sweep ends it as timed_out.",
        "Workers sweep every second; hapax cleanup does it now.");
    return;
  }
  if (!e_.stuck.empty()) {
    add("stuck",
        "The workflow's code and its journal do not agree: " + e_.stuck + ". It is tried again at " +
            format_time(e_.run_at) + ".",
        "Deploy code that fits its journal (ctx.patched keeps old runs going); hapax journal export shows the "
        "journal.");
    return;
  }
  if (journal_is_unreadable()) { return; }
  if (e_.waiting && e_.run_at > facts_.now) {
    waiting();
    return;
  }
  if (e_.run_at > facts_.now) {
    const std::string when = format_time(e_.run_at) + ", in " + about(e_.run_at - facts_.now);
    if (e_.attempt > 0 || e_.error) {
      add("retrying", "Attempt " + std::to_string(e_.attempt) + " of " + std::to_string(e_.max_attempts) +
                          " did not succeed (" + error_text(e_.error ? e_.error : facts_.last_error) +
                          "); it is tried again at " + when + ".");
    } else {
      add("delayed", "It is delayed until " + when + ".");
    }
  }
  if (facts_.queue && facts_.queue->settings.paused) {
    add("paused", "Its queue " + quoted(e_.queue.name) + " is paused.", "hapax queue resume " + e_.queue.name);
  }
  if (e_.parked) { explain_limit_key(); }
  workers();
  if (reasons_.empty()) { limits(); }
  if (reasons_.empty()) { explain_queue_position(); }
}

void Explainer::running() {
  const auto session = std::find_if(facts_.sessions.begin(), facts_.sessions.end(),
                                    [this](const SessionInfo& s) { return e_.session == s.id; });
  const std::string worker = e_.worker.empty() ? "a worker" : "worker " + quoted(e_.worker);
  if (e_.cancel_requested) {
    add("cancelling",
        "Its cancellation was asked for; " + worker + " has been told and the handler has not ended yet.");
  }
  const bool lost = session == facts_.sessions.end() || !is_alive(*session, facts_.now);
  if (lost && e_.kind == Kind::guard) {
    add("caller_lost",
        "It is a guarded call, and its caller's lease is over: " +
            std::string(e_.attempt_timeout ? "the next call with its key takes it over."
                                           : "it is never taken over, and holds its key."),
        e_.attempt_timeout ? "" : "Find out whether the call took effect, then run hapax guard forget.");
    return;
  }
  if (lost) {
    add("session_lost",
        "It was running on " + worker + ", whose lease is over: it will be claimable again at the next sweep.",
        "Any live worker sweeps every second; hapax cleanup does it now.");
    return;
  }
  std::string sentence = "It is running on " + worker + ", attempt " + std::to_string(e_.attempt) + " of " +
                         std::to_string(e_.max_attempts);
  if (e_.started_at) { sentence += ", for " + about(facts_.now - *e_.started_at); }
  add("running", sentence + ".");
}

void Explainer::completed() {
  std::string sentence = "It completed";
  if (e_.finished_at) { sentence += " at " + format_time(*e_.finished_at); }
  add("completed", sentence + ", in attempt " + std::to_string(e_.attempt) + ".");
}

void Explainer::failed() {
  add("failed", "It failed after " + counted(e_.attempt, "attempt") + ": " + error_text(e_.error) + ".");
  if (e_.kind == Kind::workflow && e_.error &&
      (e_.error->type == "InvalidSignal" || e_.error->type == "InvalidResult")) {
    add("invalid_payload",
        "A signal or result has another shape than the workflow's code expects; neither the code nor the journal has "
        "changed.",
        "Correct the sender, or catch " + e_.error->type + " where the workflow takes the value.");
  }
  if (e_.retried_as) {
    add("retried", "It was retried as " + e_.retried_as->to_string() + ".");
  } else if (e_.dead) {
    add("dead_letter", "It is in the dead-letter list of queue " + quoted(e_.queue.name) + ".",
        "hapax dlq retry " + e_.id.to_string() + ", or hapax dlq discard " + e_.id.to_string());
  } else {
    reasons_.front().remedy = retry_remedy();
  }
}

void Explainer::started_by() {
  add("started_by_activity",
      "Activity " + quoted(origin_->activity) + " started it, as " +
          (origin_->is_instance ? "a task instance of run " : "run ") + origin_->run_id + ".",
      "hapax activity show " + origin_->activity + " tells when it runs next.");
}

void Explainer::holds_key() {
  if (!e_.identity) { return; }
  if (!facts_.holding) {
    add("key_free", "It does not hold " + identity_in_words() + " any more: the same request starts a new execution.",
        e_.status == Status::completed
            ? "A dedup window holds it for longer: hapax queue set " + e_.queue.name + " --dedup-window 1d"
            : "");
    return;
  }
  if (facts_.holding->holder.id != e_.id) {
    add("superseded", "Another execution holds its identity now: " + facts_.holding->holder.id.to_string() + ".");
    return;
  }
  std::string sentence = "It holds " + identity_in_words() +
                         (origin_ ? ", so its activity does not start it again"
                                  : ", so the same request gets this execution instead of a new one");
  const std::optional<Time>& until = facts_.holding->until;
  sentence += until ? ", until " + format_time(*until) + "." : ", for as long as it is kept.";
  add("holds_key", sentence);
}

std::string Explainer::identity_in_words() const {
  if (!e_.identity_key.empty()) { return "the key " + quoted(e_.identity_key); }
  if (!facts_.task) { return "its identity"; }
  if (facts_.task->strategy.value_or(facts_.default_strategy) != IdentityStrategy::contextual) {
    return "the identity of its whole input (task " + quoted(e_.task) + " is strict)";
  }
  std::string fields;
  for (const std::string& pointer : facts_.task->identity_keys) { fields += (fields.empty() ? "" : ", ") + pointer; }
  return "the identity of its input's " + fields + " (task " + quoted(e_.task) + " is contextual)";
}

std::vector<Reason> explain(const ExplainFacts& facts) { return Explainer(facts).run(); }

}  // namespace hapax::model
