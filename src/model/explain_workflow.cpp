// Explainer: what a workflow waits for, and what is wrong with its journal.
#include "model/explainer.hpp"
#include "model/turn.hpp"

namespace hapax::model {

namespace {

constexpr std::size_t waits_named_max = 8;  // waits of a workflow named in one sentence

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (std::size_t i = 0; i < names.size() && i < waits_named_max; ++i) {
    all += (all.empty() ? "" : ", ") + quoted(names[i]);
  }
  return all + (names.size() > waits_named_max ? " and others" : "");
}

}  // namespace

bool Explainer::journal_is_unreadable() {
  const auto& error = e_.error ? e_.error : facts_.last_error;
  const bool snoozed = error && error->type == "JournalUnreadable" && e_.run_at > facts_.now;
  if (facts_.journal_trouble.empty() && !snoozed) { return false; }
  std::string sentence = "The workflow's journal cannot be read: " +
                         (facts_.journal_trouble.empty() ? error->message : facts_.journal_trouble) + ".";
  if (snoozed) { sentence += " It is tried again at " + format_time(e_.run_at) + "."; }
  add("journal_unreadable", sentence,
      "Give its workers the key file that opens it, or restore the rows of its journal; other workflows go on.");
  return true;
}

void Explainer::waiting() {
  const std::string until = format_time(e_.run_at) + ", in " + about(e_.run_at - facts_.now);
  if (!facts_.waits || facts_.waits->open.empty()) {
    add("waiting",
        e_.run_at >= never_due
            ? std::string("The workflow waits for a task or workflow that it started, or for a signal.")
            : "The workflow sleeps until " + until + ", or until an event arrives.",
        "hapax show says what it waits for.");
  } else {
    waiting_for(facts_.waits->open);
  }
  if (!facts_.waits) { return; }
  if (!facts_.waits->not_taken.empty()) {
    add("signals_not_taken",
        "Signals arrived that the workflow has not taken: " + joined(facts_.waits->not_taken) + ".",
        "A signal is kept until the workflow waits for its name.");
  }
  if (facts_.waits->invalid) {
    add("invalid_payload",
        "A payload could not be converted, and the workflow's code handled the error: " + *facts_.waits->invalid + ".");
  }
}

void Explainer::waiting_for(const std::vector<WorkflowWaits::Open>& open) {
  std::string all;
  std::string remedy;
  for (std::size_t i = 0; i < open.size() && i < waits_named_max; ++i) {
    all += (all.empty() ? "" : "; ") + described(open[i]);
    if (remedy.empty() && open[i].kind == JournalKind::signal) {
      remedy = "hapax signal " + e_.id.to_string() + " " + open[i].name + " --data JSON";
    } else if (remedy.empty() && open[i].child) {
      remedy = "hapax explain " + open[i].child->to_string() + " says why it has not ended.";
    }
  }
  if (open.size() > waits_named_max) { all += "; and " + std::to_string(open.size() - waits_named_max) + " more"; }
  add("waiting",
      open.size() == 1 ? "The workflow waits for " + all + "."
                       : "The workflow waits for one or more of these: " + all + ".",
      remedy);
}

std::string Explainer::described(const WorkflowWaits::Open& open) const {
  const std::string when =
      open.until ? format_time(*open.until) +
                       (*open.until > facts_.now ? ", in " + about(*open.until - facts_.now) : std::string())
                 : "";
  switch (open.kind) {
    case JournalKind::signal: return "signal " + quoted(open.name) + (when.empty() ? "" : ", until " + when);
    case JournalKind::timer: return "a timer that fires at " + when;
    case JournalKind::step_retry: return "the next attempt of step " + quoted(open.name) + " at " + when;
    default: break;
  }
  return (open.kind == JournalKind::child ? "workflow " : "task ") + quoted(open.name) +
         (open.child ? " (" + open.child->to_string() + ")" : "");
}

}  // namespace hapax::model
