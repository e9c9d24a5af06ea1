#include "cli/audit.hpp"

#include "app/operations.hpp"
#include "base/json_out.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"

namespace hapax::cli {
namespace {

constexpr const char* audit_examples =
    "Lists who cancelled, retried, discarded, annotated and signalled executions, who\n"
    "purged and moved queues, and who changed queues, tasks, settings, activities and\n"
    "tokens, newest first. Lines are kept for 400 days. `hapax show` prints who\n"
    "enqueued an execution (enqueued_by).\n"
    "With --json: [{\"at\",\"actor\",\"action\",\"subject\",\"detail\"}].\n"
    "\n"
    "Examples:\n"
    "  hapax audit --limit 20\n"
    "  hapax audit --subject payments --from 2026-03-01T00:00:00Z\n"
    "  hapax audit --subject 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f --json\n"
    "  hapax audit --action token.revoke";

struct AuditOptions {
  model::AuditQuery query;
  std::optional<std::string> from;
  std::optional<std::string> before;
};

int run(Shell& shell, const AuditOptions& options) {
  model::AuditQuery query = options.query;
  if (options.from) { query.from = parse_time(*options.from, "--from"); }
  if (options.before) { query.before = parse_time(*options.before, "--before"); }
  return show_audit(shell, query);
}

}  // namespace

int show_audit(Shell& shell, const model::AuditQuery& query) {
  app::check_audit(query);
  engine::Engine engine(shell.shared_store());
  const std::vector<model::AuditLine> lines = app::Operations(engine, shell.namespace_name(), {}).audit(query);
  if (shell.json()) {
    std::vector<std::string> items;
    for (const model::AuditLine& line : lines) {
      JsonObject object;
      object.time("at", line.at).text("actor", line.actor).text("action", line.action).text("subject", line.subject);
      items.push_back(object.text_or_null("detail", line.detail).str());
    }
    print(json_array(items));
    return exit_ok;
  }
  const Time now = shell.store().now();
  Table table({{.title = "WHEN", .whole = true},
               {.title = "WHO"},
               {.title = "ACTION", .whole = true},
               {.title = "SUBJECT", .folds = true},
               {.title = "DETAIL", .folds = true}});
  for (const model::AuditLine& line : lines) {
    table.add({when(line.at, now), line.actor, line.action, line.subject, line.detail});
  }
  table.print("nothing was changed yet");
  return exit_ok;
}

void add_audit(Commands& commands) {
  const auto options = std::make_shared<AuditOptions>();
  CLI::App& command = commands.add({"audit", "List who changed what, newest first", audit_examples});
  command.add_option("--subject", options->query.subject, "Queue, task, activity, execution or token")
      ->type_name("NAME|ID");
  command.add_option("--action", options->query.action, "Only this action: execution.cancel, …")->type_name("A");
  command.add_option("--from", options->from, "At or after: 2026-03-01T09:00:00Z")->type_name("TIME");
  command.add_option("--before", options->before, "Before this instant")->type_name("TIME");
  command.add_option("--limit", options->query.limit, "Print at most N lines")->type_name("N")->capture_default_str();
  commands.run_with(command, [options](Shell& shell) { return run(shell, *options); });
}

}  // namespace hapax::cli
