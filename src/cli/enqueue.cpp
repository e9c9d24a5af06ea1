#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/awaiting.hpp"
#include "cli/bulk.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_out.hpp"
#include "cli/render.hpp"
#include "cli/request.hpp"
#include "engine/door.hpp"
#include "engine/engine.hpp"

namespace hapax::cli {
namespace {

constexpr const char* examples =
    "Prints the execution's id, and with --json "
    "{\"id\",\"created\",\"status\",\"run\",\"deduplicated_from\"?,\"result\"?}.\n"
    "With --task-id, a second request of the same key gets the first one's execution (created: false), unless it "
    "failed,\n"
    "was cancelled or timed out: then a new run is made. The same key with another input is IdempotencyMismatch (65).\n"
    "\n"
    "Examples:\n"
    "  hapax enqueue send_mail --input '{\"to\":\"ada@example.org\"}' --queue emails\n"
    "  hapax enqueue charge --input @order.json --task-id charge-order-456 --wait --json\n"
    "  hapax enqueue report --delay 15m --priority 10 --max-attempts 6 --tag nightly\n"
    "  jq -c '{task:\"load\",input:.}' rows.json | hapax enqueue --bulk - --queue import\n"
    "\n"
    "Exit codes: 0 admitted or deduplicated; 3 the key is taken (--on-conflict reject) or the queue drains; 64, 65, "
    "66, 75;\n"
    "with --wait: 0 completed, 1 ended otherwise, 124 still going.";

struct Options {
  RequestFields fields;
  std::optional<std::string> input;
  std::optional<std::string> metadata;
  bool wait = false;
  std::optional<std::string> wait_timeout;
  std::optional<std::string> bulk;
  bool each = false;
};

void print_admission(const Shell& shell, const model::Admission& admission, const std::optional<model::Outcome>& end) {
  const Status status = end ? end->status : admission.status;
  const std::optional<std::string> result = end && end->result ? end->result : admission.result;
  const std::string id = admission.id.to_string();
  if (shell.json()) {
    JsonObject object;
    object.text("id", id).boolean("created", admission.created()).text("status", to_string(status));
    object.number("run", std::int64_t{admission.run});
    if (admission.deduplicated_from) { object.time("deduplicated_from", admission.deduplicated_from); }
    if (status == Status::completed) { object.raw("result", result && !result->empty() ? *result : "null"); }
    if (end && end->error) { object.raw("error", error_json(end->error)); }
    print(object.str());
    return;
  }
  std::string line = (admission.created() ? "created " : "existing ") + id + " ";
  line += paint(output_terminal(), status_style(status), to_string(status));
  if (admission.run > 1) { line += ", run " + std::to_string(admission.run); }
  if (admission.deduplicated_from) { line += ", first asked for " + format_time(*admission.deduplicated_from); }
  print(line);
  if (status == Status::completed) { print(base::printable(result.value_or("null"))); }
  if (end && end->error) { print(base::printable(error_line(end->error))); }
}

int enqueue_one(Shell& shell, const Options& options) {
  RequestFields fields = options.fields;
  if (options.input) { fields.input = read_payload(*options.input, "input"); }
  if (options.metadata) { fields.metadata = read_payload(*options.metadata, "metadata"); }
  const std::optional<Duration> wait_timeout = optional_duration(options.wait_timeout, "--wait-timeout");
  shell.use_configuration();
  engine::CatalogueCache catalogue(shell.store(), shell.ns());
  const model::NewExecution request = make_request(fields, shell.ns(), catalogue);
  engine::Engine engine(shell.shared_store());
  const model::Admission admission = engine.admit(request);
  engine::throw_if_refused(admission, request.task, request.identity ? request.identity->key : "");
  const bool wait_for_holder =
      !admission.created() && request.identity && request.identity->on_conflict == OnConflict::wait;
  std::optional<model::Outcome> end;
  if (options.wait || wait_for_holder) { end = await_outcome(engine, admission.id, wait_timeout); }
  print_admission(shell, admission, end);
  return options.wait ? exit_code_of(end->status) : exit_ok;
}

}  // namespace

void add_enqueue(Commands& commands) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"enqueue", "Ask for a task to be run: one, or many from NDJSON", examples});
  RequestFields& fields = options->fields;
  auto* task = command.add_option("task", fields.task, "Name of the task")->type_name("TASK");
  command.add_option("--input", options->input, "Input: JSON, @FILE, or - for standard input (default: null)")
      ->type_name("JSON|@FILE|-");
  command.add_option("--queue", fields.queue, "Queue, made on first use (default: the task's, or default)")
      ->type_name("Q");
  command.add_option("--task-id", fields.task_id, "Idempotency key: the same key runs once")->type_name("KEY");
  command
      .add_option("--on-conflict", fields.on_conflict,
                  "When the key is taken: return_existing, reject, wait or terminate_existing")
      ->type_name("POLICY")
      ->capture_default_str();
  command.add_option("--reuse", fields.reuse, "When the key's holder has ended: failed_only, reject or allow")
      ->type_name("POLICY");
  command
      .add_option("--throttle", fields.throttle, "For so long after the first, the first answers; then it runs anew")
      ->type_name("D");
  command.add_option("--debounce", fields.debounce, "Runs so long after the last request, with its input")
      ->type_name("D");
  command.add_flag("--keep-last", fields.keep_last, "At most one running and one pending, the latest");
  command.add_option("--concurrency-key", fields.concurrency_key, "Those of a key run a limited number at a time")
      ->type_name("KEY");
  command.add_option("--ordering-key", fields.ordering_key, "Those of a key run one after the other, in order")
      ->type_name("KEY");
  command.add_option("--weight", fields.weight, "Starts it counts as under a rate limit")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--delay", fields.delay, "Not before this much time has passed: 90s, 15m, 12h, 30d")
      ->type_name("D");
  command.add_option("--run-at", fields.run_at, "Not before this instant: 2026-03-01T09:00:00Z")->type_name("TIME");
  command.add_option("--priority", fields.priority, "Higher is claimed first, -32768 to 32767")->type_name("N");
  command.add_option("--max-attempts", fields.max_attempts, "Attempts in all (default 4)")->type_name("N");
  command.add_option("--retry-base", fields.retry_base, "First retry delay, doubled with each attempt (default 500ms)")
      ->type_name("D");
  command.add_option("--retry-cap", fields.retry_cap, "Longest retry delay (default 30s)")->type_name("D");
  command.add_option("--timeout", fields.timeout, "For each attempt")->type_name("D");
  command.add_option("--deadline", fields.deadline, "For the whole execution; then it is timed_out")->type_name("D");
  command.add_option("--tag", fields.tags, "A tag; may be repeated")->type_name("T")->allow_extra_args(false);
  command.add_option("--metadata", options->metadata, "A JSON object kept with it: JSON, @FILE or -")
      ->type_name("JSON");
  command.add_option("--traceparent", fields.traceparent, "W3C trace context handed on to the handler")
      ->type_name("TEXT")
      ->envname("HAPAX_TRACEPARENT");
  command.add_flag("--wait", options->wait, "Wait for the outcome and print it");
  command.add_option("--wait-timeout", options->wait_timeout, "At most this long")->type_name("D");
  command
      .add_option("--bulk", options->bulk,
                  "Many: a file (- for standard input) of lines {\"task\",\"input\",\"task_id\"?,…}")
      ->type_name("FILE|-");
  command.add_flag("--each", options->each, "With --bulk: a JSON line for each admission, in order");
  commands.run_with(command, [options, task](Shell& shell) {
    if (options->bulk) {
      if (options->wait || options->wait_timeout || options->input || options->fields.task_id) {
        throw BadUsage("--bulk cannot be used with --input, --task-id, --wait or --wait-timeout");
      }
      shell.use_configuration();
      RequestFields defaults = options->fields;
      if (options->metadata) { defaults.metadata = read_payload(*options->metadata, "metadata"); }
      return enqueue_bulk(shell, {.path = *options->bulk, .defaults = std::move(defaults), .each = options->each});
    }
    if (options->each) { throw BadUsage("--each goes with --bulk"); }
    if (task->count() == 0) { throw BadUsage("TASK is required (or --bulk FILE); see hapax enqueue --help"); }
    return enqueue_one(shell, *options);
  });
}

}  // namespace hapax::cli
