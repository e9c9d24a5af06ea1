#include "cli/admitting.hpp"
#include "cli/arguments.hpp"
#include "cli/bulk.hpp"

namespace hapax::cli {
namespace {

constexpr const char* enqueue_examples =
    "Prints the execution's ID. A second request with the same --task-id returns the\n"
    "first request's execution (created: false), unless that execution failed, was\n"
    "cancelled or timed out: then a new run is made. The same key with another input\n"
    "is an error, IdempotencyMismatch (65).\n"
    "With --json: {\"id\",\"created\",\"status\",\"run\",\"deduplicated_from\"?,\"result\"?}.\n"
    "\n"
    "Examples:\n"
    "  hapax enqueue send_mail --input '{\"to\":\"ada@example.org\"}' --queue emails\n"
    "  hapax enqueue charge --input @order.json --task-id order-456 --wait --json\n"
    "  hapax enqueue report --delay 15m --priority 10 --max-attempts 6 --tag nightly\n"
    "  jq -c '{task:\"load\",input:.}' rows.json | hapax enqueue --bulk - --queue load\n"
    "\n"
    "Exit codes: 0 admitted or deduplicated; 3 the key is taken (--on-conflict\n"
    "reject) or the queue drains; 64, 65, 66, 75 as in `hapax --help`.\n"
    "With --wait: 0 completed, 1 ended otherwise, 124 still going.";

struct EnqueueFlags {
  AdmitOptions one;
  std::optional<std::string> bulk;
  bool each = false;
};

}  // namespace

void add_enqueue(Commands& commands) {
  const auto options = std::make_shared<EnqueueFlags>();
  CLI::App& command = commands.add({"enqueue", "Enqueue an execution, or many from NDJSON", enqueue_examples});
  AdmitOptions& flags = options->one;
  EnqueueOptions& fields = flags.fields.options;
  auto* task = command.add_option("task", flags.fields.task, "Name of the task")->type_name("TASK");
  command.add_option("--task-id", fields.task_id, "Idempotency key: the same key runs once")->type_name("KEY");
  add_admit_flags(command, flags);
  command.add_option("--throttle", flags.texts["throttle"], "Requests within D return the first execution")
      ->type_name("D");
  command.add_option("--debounce", flags.texts["debounce"], "Run D after the last request, with its input")
      ->type_name("D");
  command.add_flag("--keep-last", fields.keep_last, "At most one running, one pending: the latest");
  command.add_option("--concurrency-key", fields.concurrency_key, "Limit how many of this key run at once")
      ->type_name("KEY");
  command.add_option("--ordering-key", fields.ordering_key, "Run this key's executions one by one, in order")
      ->type_name("KEY");
  command.add_option("--weight", flags.numbers["weight"], "Count as N starts under a rate limit")
      ->type_name("N")
      ->default_str("1");
  command.add_option("--max-attempts", flags.numbers["max_attempts"], "Attempts in all (default 4)")->type_name("N");
  command.add_option("--retry-base", flags.texts["retry_base"], "First retry delay, doubles (default 500ms)")
      ->type_name("D");
  command.add_option("--retry-cap", flags.texts["retry_cap"], "Longest retry delay (default 30s)")->type_name("D");
  command.add_option("--timeout", flags.texts["timeout"], "Limit for each attempt")->type_name("D");
  command.add_option("--bulk", options->bulk, "Enqueue lines of {\"task\",\"input\",\"task_id\"?,…}")
      ->type_name("FILE|-");
  command.add_flag("--each", options->each, "With --bulk: print a JSON line per admission");
  commands.run_with(command, [options, task](Shell& shell) {
    const AdmitOptions& one = options->one;
    if (options->bulk) {
      if (one.wait || one.wait_timeout || one.input || one.fields.options.task_id) {
        throw BadUsage("--bulk cannot be used with --input, --task-id, --wait or --wait-timeout");
      }
      shell.when_store_is_missing(MissingStore::make);
      shell.use_configuration();
      AdmitOptions defaults = one;
      if (one.metadata) { defaults.fields.metadata = read_payload(*one.metadata, "metadata"); }
      return enqueue_bulk(shell, {.path = *options->bulk, .defaults = std::move(defaults), .each = options->each});
    }
    if (options->each) { throw BadUsage("--each goes with --bulk"); }
    if (task->count() == 0) { throw BadUsage("TASK is required (or --bulk FILE); see hapax enqueue --help"); }
    return admit_one(shell, one);
  });
}

}  // namespace hapax::cli
