#include "base/json_view.hpp"
#include "base/text.hpp"
#include "cli/admitting.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"

namespace hapax::cli {
namespace {

constexpr const char* identity_examples =
    "Prints how hapax would recognise a repeated request: the task's strategy, the\n"
    "canonical form of the compared data, the identity made from that form, the\n"
    "identity's present holder, and the answer to an enqueue. Changes nothing: a\n"
    "configuration file counts only once it is applied.\n"
    "With --json: {\"task\",\"namespace\",\"queue\",\"strategy\",\"catalogued\",\"scope\",\n"
    "\"task_id\",\"canonical\",\"identity\",\"fingerprint\",\"holder\":{\"id\",\"status\",\"run\",\n"
    "\"created_at\",\"finished_at\",\"held_until\",\"expired\"}|null,\"would\"}; \"would\" is\n"
    "created, deduplicated, or the name of an error.\n"
    "\n"
    "Examples:\n"
    "  hapax identity generate-report --input '{\"customer_id\":7,\"month\":\"2026-03\"}'\n"
    "  hapax identity charge --task-id order-456 --input @order.json --json";

std::string about(const JsonView& holder) {
  std::string text = holder.text("id") + " " + holder.text("status") + ", created " + holder.text("created_at");
  if (holder.has("held_until")) { text += ", held until " + holder.text("held_until"); }
  if (holder.flag("expired")) { text += " (its record has expired; only the key is still held)"; }
  return text;
}

void print_human(const JsonView& asked) {
  Facts facts;
  facts.add("task", asked.text("task"), Style::bold);
  facts.add("queue", asked.text("queue"));
  facts.add("strategy", asked.text("strategy") + (asked.flag("catalogued")
                                                      ? ""
                                                      : " (nobody has catalogued this name: each request runs, unless "
                                                        "it has a key)"));
  facts.add("scope", asked.text("scope"));
  if (asked.has("identity")) {
    facts.add_if("key", base::printable(asked.text("task_id")));
    facts.add_if("canonical", base::printable(asked.text("canonical")));
    facts.add("identity", asked.text("identity"));
    facts.add_if("fingerprint", asked.text("fingerprint"));
    facts.add("holder", asked.has("holder") ? about(JsonView(asked.raw("holder"))) : "nobody");
  } else {
    facts.add("identity", "none");
  }
  facts.add("an enqueue now", asked.text("would"));
  facts.print();
}

int run_identity(Shell& shell, const AdmitOptions& asked) {
  AdmitOptions options = asked;
  if (options.input) { options.fields.input = read_payload(*options.input, "input", shell.payload_limit()); }
  const std::string document = shell.backend().identity(read_flags(options));
  if (shell.json()) {
    print(document);
  } else {
    print_human(JsonView(document));
  }
  return exit_ok;
}

}  // namespace

void add_identity(Commands& commands) {
  const auto options = std::make_shared<AdmitOptions>();
  CLI::App& command = commands.add({"identity", "Show the identity of a request and its holder", identity_examples});
  command.add_option("task", options->fields.task, "Name of the task")->type_name("TASK")->required();
  command.add_option("--input", options->input, "Input: JSON, @FILE or - (default: null)")->type_name("JSON|@FILE|-");
  command.add_option("--task-id", options->fields.options.task_id, "Idempotency key")->type_name("KEY");
  command.add_option("--queue", options->fields.options.queue, "Queue (matters for tasks with scope queue)")
      ->type_name("Q");
  command.add_option("--on-conflict", options->texts["on_conflict"], "As for enqueue")
      ->type_name("POLICY")
      ->default_str("return_existing");
  command.add_option("--reuse", options->texts["reuse"], "As for enqueue")->type_name("POLICY");
  commands.run_with(command, [options](Shell& shell) { return run_identity(shell, *options); });
}

}  // namespace hapax::cli
