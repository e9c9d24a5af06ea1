#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_out.hpp"
#include "cli/render.hpp"
#include "cli/request.hpp"
#include "engine/door.hpp"
#include "model/admission.hpp"
#include "model/strategy.hpp"

namespace hapax::cli {
namespace {

constexpr const char* examples =
    "Says what makes this request the same as another: the task's strategy, the canonical form of what is compared, "
    "the\n"
    "identity it makes, who holds that now and what an enqueue would meet. Changes nothing.\n"
    "With --json: {\"task\",\"namespace\",\"queue\",\"strategy\",\"catalogued\",\"scope\",\"task_id\",\"canonical\","
    "\"identity\",\n"
    "\"fingerprint\",\"holder\":{\"id\",\"status\",\"created_at\",\"finished_at\"}|null,\"would\"}; would is created,\n"
    "deduplicated, or the name of the error.\n"
    "\n"
    "Examples:\n"
    "  hapax identity generate-report --input '{\"customer_id\":7,\"month\":\"2026-03\"}'\n"
    "  hapax identity charge --task-id charge-order-456 --input @order.json --json";

struct Options {
  RequestFields fields;
  std::optional<std::string> input;
};

// What an enqueue would meet. The holder's input is compared as the store would compare its fingerprint.
struct Meeting {
  std::optional<model::Execution> execution;  // none, with a holder: only its key is left
  std::optional<Uuid> holder;
  std::string would = "created";
};

const char* word_of(const model::AdmissionDecision& decision) {
  if (decision.step == model::AdmissionStep::replace) { return "replaced"; }
  if (decision.step != model::AdmissionStep::answer) { return "created"; }
  switch (decision.admission.verdict) {
    case model::AdmissionVerdict::created: return "created";
    case model::AdmissionVerdict::deduplicated: return "deduplicated";
    case model::AdmissionVerdict::already_exists: return "TaskAlreadyExists";
    case model::AdmissionVerdict::already_completed: return "TaskAlreadyCompleted";
    case model::AdmissionVerdict::already_finished: return "TaskAlreadyFinished";
    case model::AdmissionVerdict::mismatch: return "IdempotencyMismatch";
    case model::AdmissionVerdict::queue_draining: return "QueueDraining";
  }
  return "";
}

Meeting meet(Shell& shell, const model::NewExecution& request, const model::IdentityRules& rules) {
  Meeting meeting;
  if (!request.identity) { return meeting; }
  meeting.holder = shell.store().holder(request.identity->hash);
  if (!meeting.holder) { return meeting; }
  model::Holder holder;
  holder.id = *meeting.holder;
  meeting.execution = shell.store().get(*meeting.holder);
  if (meeting.execution) {
    const model::Execution& it = *meeting.execution;
    holder.status = it.status;
    holder.attempt = it.attempt;
    holder.run = it.run;
    holder.created_at = it.created_at;
    holder.finished_at = it.finished_at;
    if (request.identity->fingerprint) {
      model::NewExecution same = request;
      same.input = it.input;
      model::identify(same, rules,
                      {.key = request.identity->key.empty() ? std::nullopt : std::optional(request.identity->key)});
      holder.fingerprint = same.identity->fingerprint;
    }
  } else {
    holder.status = Status::completed;
    holder.expired = true;
  }
  meeting.would = word_of(model::decide_admission(holder, *request.identity, shell.store().now()));
  return meeting;
}

std::string hex(const std::optional<base::Digest>& digest) { return digest ? base::to_hex(*digest) : std::string(); }

void print_human(const model::NewExecution& request, const model::IdentityRules& rules, bool catalogued,
                 const std::string& canonical, const Meeting& meeting) {
  Facts facts;
  facts.add("task", request.task, Style::bold);
  facts.add("queue", request.queue.name);
  facts.add("strategy", std::string(model::to_word(rules.strategy)) +
                            (catalogued ? ""
                                        : " (nobody has catalogued this name: each request runs, unless it has a "
                                          "key)"));
  facts.add("scope", std::string(model::to_word(rules.scope)));
  if (request.identity) {
    facts.add_if("key", base::printable(request.identity->key));
    facts.add_if("canonical", base::printable(canonical));
    facts.add("identity", base::to_hex(request.identity->hash));
    facts.add_if("fingerprint", hex(request.identity->fingerprint));
  } else {
    facts.add("identity", "none");
  }
  if (meeting.holder) {
    std::string holder = meeting.holder->to_string();
    if (meeting.execution) {
      holder += " " + std::string(to_string(meeting.execution->status)) + ", created " +
                format_time(meeting.execution->created_at);
    } else {
      holder += " (its record has expired; only the key is still held)";
    }
    facts.add("holder", holder);
  } else if (request.identity) {
    facts.add("holder", "nobody");
  }
  facts.add("an enqueue now", meeting.would);
  facts.print();
}

int run(Shell& shell, const Options& options) {
  RequestFields fields = options.fields;
  if (options.input) { fields.input = read_payload(*options.input, "input"); }
  shell.use_configuration();
  engine::CatalogueCache catalogue(shell.store(), shell.ns());
  const TaskSpec task{.name = fields.task, .options = {}};
  const engine::CatalogueCache::Entry entry = catalogue.find(task);
  const model::IdentityRules rules = engine::rules_for(task, entry);
  const model::NewExecution request = make_request(fields, shell.ns(), catalogue);
  std::string canonical;
  if (request.identity && request.identity->key.empty()) {
    canonical = model::key_material(rules, request.task, request.input)->canonical;
  }
  const Meeting meeting = meet(shell, request, rules);
  if (!shell.json()) {
    print_human(request, rules, entry.definition != nullptr, canonical, meeting);
    return exit_ok;
  }
  JsonObject object;
  object.text("task", request.task).text("namespace", request.queue.ns).text("queue", request.queue.name);
  object.text("strategy", model::to_word(rules.strategy)).boolean("catalogued", entry.definition != nullptr);
  object.text("scope", model::to_word(rules.scope));
  object.text_or_null("task_id", request.identity ? request.identity->key : "");
  object.text_or_null("canonical", canonical);
  object.text_or_null("identity", request.identity ? base::to_hex(request.identity->hash) : "");
  object.text_or_null("fingerprint", request.identity ? hex(request.identity->fingerprint) : "");
  if (meeting.holder) {
    JsonObject holder;
    holder.text("id", meeting.holder->to_string());
    holder.text_or_null("status", meeting.execution ? to_string(meeting.execution->status) : "");
    holder.time("created_at", meeting.execution ? std::optional(meeting.execution->created_at) : std::nullopt);
    holder.time("finished_at", meeting.execution ? meeting.execution->finished_at : std::nullopt);
    object.raw("holder", holder.str());
  } else {
    object.null("holder");
  }
  print(object.text("would", meeting.would).str());
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
