#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "model/strategy.hpp"
#include "wire/identity_json.hpp"

namespace hapax::cli {
namespace {

constexpr const char* examples =
    "Says what makes this request the same as another: the task's strategy, the canonical form of what is compared, "
    "the\n"
    "identity it makes, who holds that now and what an enqueue would meet. Changes nothing: what a configuration file\n"
    "says of tasks counts once it is applied.\n"
    "With --json: {\"task\",\"namespace\",\"queue\",\"strategy\",\"catalogued\",\"scope\",\"task_id\",\"canonical\","
    "\"identity\",\n"
    "\"fingerprint\",\"holder\":{\"id\",\"status\",\"run\",\"created_at\",\"finished_at\",\"held_until\",\"expired\"}|"
    "null,"
    "\"would\"};\n"
    "would is created, deduplicated, or the name of the error.\n"
    "\n"
    "Examples:\n"
    "  hapax identity generate-report --input '{\"customer_id\":7,\"month\":\"2026-03\"}'\n"
    "  hapax identity charge --task-id charge-order-456 --input @order.json --json";

struct Options {
  RequestFields fields;
  std::optional<std::string> input;
};

std::string about(const model::Holding& holding) {
  const model::Holder& holder = holding.holder;
  std::string text = holder.id.to_string() + " " + std::string(to_string(holder.status));
  text += ", created " + format_time(holder.created_at);
  if (holding.until) { text += ", held until " + format_time(*holding.until); }
  if (holder.expired) { text += " (its record has expired; only the key is still held)"; }
  return text;
}

void print_human(const AskedIdentity& asked) {
  const model::NewExecution& request = asked.request;
  const std::optional<model::IdentityClaim>& identity = request.identity;
  Facts facts;
  facts.add("task", request.task, Style::bold);
  facts.add("queue", request.queue.name);
  facts.add("strategy", std::string(model::to_word(asked.rules.strategy)) +
                            (asked.catalogued ? ""
                                              : " (nobody has catalogued this name: each request runs, unless it has "
                                                "a key)"));
  facts.add("scope", std::string(model::to_word(asked.rules.scope)));
  if (identity) {
    facts.add_if("key", base::printable(identity->key));
    facts.add_if("canonical", base::printable(asked.canonical));
    facts.add("identity", base::to_hex(identity->hash));
    facts.add_if("fingerprint", identity->fingerprint ? base::to_hex(*identity->fingerprint) : "");
  } else {
    facts.add("identity", "none");
  }
  if (identity) { facts.add("holder", asked.holding ? about(*asked.holding) : "nobody"); }
  facts.add("an enqueue now", asked.would);
  facts.print();
}

int run(Shell& shell, const Options& options) {
  RequestFields fields = options.fields;
  if (options.input) { fields.input = read_payload(*options.input, "input"); }
  engine::CatalogueCache catalogue(shell.store(), shell.ns());
  const AskedIdentity asked = ask_identity(shell.store(), shell.ns(), catalogue, fields);
  if (shell.json()) {
    print(identity_json(asked));
  } else {
    print_human(asked);
  }
  return exit_ok;
}

}  // namespace

void add_identity(Commands& commands) {
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      commands.add({"identity", "What makes a request the same as another, and who holds it", examples});
  command.add_option("task", options->fields.task, "Name of the task")->type_name("TASK")->required();
  command.add_option("--input", options->input, "Input: JSON, @FILE, or - for standard input (default: null)")
      ->type_name("JSON|@FILE|-");
  command.add_option("--task-id", options->fields.task_id, "Idempotency key")->type_name("KEY");
  command.add_option("--queue", options->fields.queue, "Queue (counts for tasks with scope queue)")->type_name("Q");
  command.add_option("--on-conflict", options->fields.on_conflict, "As for enqueue")
      ->type_name("POLICY")
      ->capture_default_str();
  command.add_option("--reuse", options->fields.reuse, "As for enqueue")->type_name("POLICY");
  commands.run_with(command, [options](Shell& shell) { return run(shell, *options); });
}

}  // namespace hapax::cli
