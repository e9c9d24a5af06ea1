#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_out.hpp"
#include "cli/render.hpp"
#include "cli/request.hpp"
#include "engine/door.hpp"
#include "model/admission.hpp"
#include "model/strategy.hpp"

#include <algorithm>

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

// What an enqueue would meet, by the rule that the stores admit by.
struct Meeting {
  std::optional<model::Holding> holding;
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
    case model::AdmissionVerdict::taken_over: return "taken_over";
    case model::AdmissionVerdict::session_gone: return "StaleLease";
  }
  return "";
}

bool is_draining(Shell& shell, const model::QueueRef& name) {
  const std::vector<model::QueueInfo> queues = shell.store().queues(name.ns);
  return std::any_of(queues.begin(), queues.end(),
                     [&](const model::QueueInfo& info) { return info.queue == name && info.settings.draining; });
}

Meeting meet(Shell& shell, const model::NewExecution& request) {
  Meeting meeting;
  model::AdmissionDecision decision{.step = model::AdmissionStep::new_run, .admission = {}};
  if (request.identity) {
    meeting.holding = shell.store().holding(request.identity->hash);
    if (meeting.holding) {
      decision = model::decide_admission(meeting.holding->holder, *request.identity, shell.store().now());
    }
  }
  meeting.would = word_of(decision);
  if (meeting.would == "created" && is_draining(shell, request.queue)) { meeting.would = "QueueDraining"; }
  return meeting;
}

std::string about(const model::Holding& holding) {
  const model::Holder& holder = holding.holder;
  std::string text = holder.id.to_string() + " " + std::string(to_string(holder.status));
  text += ", created " + format_time(holder.created_at);
  if (holding.until) { text += ", held until " + format_time(*holding.until); }
  if (holder.expired) { text += " (its record has expired; only the key is still held)"; }
  return text;
}

std::string holding_json(const model::Holding& holding) {
  JsonObject object;
  object.text("id", holding.holder.id.to_string()).text("status", to_string(holding.holder.status));
  object.number("run", std::int64_t{holding.holder.run});
  object.time("created_at", holding.holder.created_at).time("finished_at", holding.holder.finished_at);
  object.time("held_until", holding.until).boolean("expired", holding.holder.expired);
  return object.str();
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
  if (request.identity) { facts.add("holder", meeting.holding ? about(*meeting.holding) : "nobody"); }
  facts.add("an enqueue now", meeting.would);
  facts.print();
}

int run(Shell& shell, const Options& options) {
  RequestFields fields = options.fields;
  if (options.input) { fields.input = read_payload(*options.input, "input"); }
  engine::CatalogueCache catalogue(shell.store(), shell.ns());
  const TaskSpec task{.name = fields.task, .options = {}};
  const engine::CatalogueCache::Entry entry = catalogue.find(task);
  const model::IdentityRules rules = engine::rules_for(task, entry);
  const model::NewExecution request = make_request(fields, shell.ns(), catalogue);
  std::string canonical;
  if (request.identity && request.identity->key.empty()) {
    canonical = model::key_material(rules, request.task, request.input)->canonical;
  }
  const Meeting meeting = meet(shell, request);
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
  if (meeting.holding) {
    object.raw("holder", holding_json(*meeting.holding));
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
