#include "cli/backend.hpp"
#include "cli/render.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "cli/timeline.hpp"

#include "api/execution_read.hpp"
#include "base/json_view.hpp"
#include "base/sha256.hpp"
#include "model/identity.hpp"
#include "model/turn.hpp"

namespace hapax::cli {
namespace {

std::string show_execution_joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) { text += (text.empty() ? "" : ", ") + word; }
  return text;
}

std::string instant(const std::optional<Time>& time, Time now) {
  if (!time || *time >= model::never_due) { return ""; }
  return format_time(*time) + (output_terminal().is_tty ? " (" + when(time, now) + ")" : "");
}

void print_facts(const model::Execution& e, const std::string& parent_workflow_id, Time now,
                 const std::vector<TimelineEntry>& timeline) {
  const bool workflow = e.kind == model::Kind::workflow;
  Facts facts;
  facts.add("id", e.id.to_string(), Style::bold);
  facts.add(workflow ? "workflow" : "task", e.task);
  facts.add("queue", e.queue.namespace_name == "default"
                         ? e.queue.name
                         : e.queue.name + " (namespace " + e.queue.namespace_name + ")");
  const Cell status = status_cell(e, now);
  facts.add("status", status.text, status.style);
  facts.add_if("waits for", waits_for(e, timeline));
  facts.add_if("stuck", e.stuck);
  facts.add("input", e.input.empty() ? "null" : e.input);
  if (e.status == Status::completed) { facts.add("result", e.result.value_or("null")); }
  facts.add_if("error", error_line(e.error));
  facts.add_if("detail", e.error ? e.error->detail : "");
  if (!workflow) { facts.add("attempts", std::to_string(e.attempt) + " of " + std::to_string(e.max_attempts)); }
  if (e.lost > 0) { facts.add("lost", std::to_string(e.lost) + " of " + std::to_string(e.max_lost)); }
  facts.add("run", std::to_string(e.run));
  facts.add_if(workflow ? "workflow id" : "key", e.identity_key);
  facts.add_if("identity", e.identity ? base::to_hex(*e.identity) : "");
  facts.add("effect key", e.effect_key);
  facts.add("fence", std::to_string(e.fence));
  facts.add("priority", std::to_string(e.priority));
  facts.add("created", instant(e.created_at, now));
  facts.add_if(e.status == Status::pending ? "due" : "was due", instant(e.run_at, now));
  facts.add_if("started", instant(e.started_at, now));
  facts.add_if("finished", instant(e.finished_at, now));
  facts.add_if("kept until", instant(e.expires_at, now));
  facts.add_if("deadline", instant(e.deadline, now));
  facts.add_if("timeout", e.attempt_timeout ? format_duration(*e.attempt_timeout) : "");
  facts.add_if("worker", e.worker);
  facts.add_if("progress",
               e.progress ? std::to_string(static_cast<int>(*e.progress * 100)) + " % " + e.progress_message : "");
  if (const std::optional<model::RunName> origin = model::activity_origin(e)) {
    facts.add("activity", origin->activity + (origin->is_instance ? ", a task instance of " + origin->run_id : ""));
  }
  facts.add_if("parent", e.parent ? e.parent->to_string() : "");
  facts.add_if("parent workflow", parent_workflow_id);
  facts.add_if("continued as", e.continued_as ? e.continued_as->to_string() : "");
  facts.add_if("retried as", e.retried_as ? e.retried_as->to_string() : "");
  facts.add_if("note", e.note);
  facts.add_if("tags", show_execution_joined(e.labels.tags));
  facts.add_if("metadata", e.labels.metadata);
  facts.add_if("traceparent", e.labels.traceparent);
  facts.add_if("tracestate", e.labels.tracestate);
  facts.add_if("enqueued by", e.labels.actor);
  facts.print();
}

void print_attempts(const std::vector<model::Attempt>& attempts, Time now) {
  Table table({{.title = "ATTEMPT", .numeric = true},
               {.title = "OUTCOME"},
               {.title = "STARTED"},
               {.title = "TOOK"},
               {.title = "WORKER", .folds = true},
               {.title = "ERROR", .folds = true}});
  for (const model::Attempt& a : attempts) {
    const bool timed = a.started_at && a.ended_at;
    table.add({std::to_string(a.number), a.outcome, when(a.started_at, now),
               timed ? rough(*a.ended_at - *a.started_at) : "", a.worker, error_line(a.error)});
  }
  table.print("no attempt yet");
}

}  // namespace

void show_execution(Shell& shell, const std::string& document) {
  if (shell.json()) {
    print(document);
    return;
  }
  const model::Execution execution = read_execution(document);
  const JsonView view(document);
  std::vector<TimelineEntry> timeline;
  if (view.has("journal")) { timeline = read_timeline(view.raw("journal")); }
  const Time now = shell.backend().now();
  print_facts(execution, view.text("parent_workflow_id"), now, timeline);
  print("");
  if (execution.kind == model::Kind::workflow) {
    print_timeline(execution, timeline);
  } else {
    print_attempts(read_attempts(view.raw("attempts")), now);
  }
}

}  // namespace hapax::cli
