#include "cli/admitting.hpp"

#include "api/execution_read.hpp"
#include "base/json_out.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/awaiting.hpp"
#include "cli/backend.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "model/traceparent.hpp"

#include <cstdio>

namespace hapax::cli {
namespace {

void print_admission(const Shell& shell, const std::string& document, const std::optional<model::Outcome>& end) {
  const model::Admission admission = read_admission(document);
  const Status status = end ? end->status : admission.status;
  const std::optional<std::string> result = end && end->result ? end->result : admission.result;
  // The execution's record has expired and only its key is still held, so the result is unknown, not null.
  const bool result_expired = !end && admission.expired;
  // The ID is nil when a debounced request was made with a token that may not read.
  const std::string id = admission.id.is_nil() ? "(an ID that this token may not read)" : admission.id.to_string();
  if (shell.json()) {
    print(end ? admission_json(admission, end) : document);
    return;
  }
  std::string line = (admission.created() ? "created " : "existing ") + id + " ";
  line += paint(output_terminal(), status_style(status), to_string(status));
  if (admission.run > 1) { line += ", run " + std::to_string(admission.run); }
  if (admission.deduplicated_from) { line += ", first asked for " + format_time(*admission.deduplicated_from); }
  if (result_expired) { line += "; its record has expired, and its result with it: only the key is still held"; }
  print(line);
  if (status == Status::completed && !result_expired) { print(base::printable(result.value_or("null"))); }
  if (end && end->error) { print(base::printable(error_line(end->error))); }
}

// An invalid trace context never refuses a request: a remark reports it, and it is dropped.
void drop_unusable_trace(RequestFields& fields) {
  std::string& state = fields.options.tracestate;
  if (model::accepted_tracestate(state).empty()) { state.clear(); }
  std::string& given = fields.options.traceparent;
  if (given.empty() || !model::accepted_traceparent(given).empty()) { return; }
  std::fprintf(stderr, "remark: --traceparent (HAPAX_TRACEPARENT) '%s' is no W3C trace context and is ignored\n",
               base::printable(base::keep_head(given, 100)).c_str());
  given.clear();
}

}  // namespace

RequestFields read_flags(const AdmitOptions& options) {
  JsonObject members;
  for (const auto& [name, text] : options.texts) {
    if (text) { members.text(name, *text); }
  }
  for (const auto& [name, number] : options.numbers) {
    if (number) { members.number(name, *number); }
  }
  return parse_request(members.str(), options.fields, "flags");
}

void add_admit_flags(CLI::App& command, AdmitOptions& options) {
  EnqueueOptions& fields = options.fields.options;
  command.add_option("--input", options.input, "Input: JSON, @FILE or - (default: null)")->type_name("JSON|@FILE|-");
  command.add_option("--queue", fields.queue, "Queue, made if new (default: the task's queue)")->type_name("Q");
  command
      .add_option("--on-conflict", options.texts["on_conflict"],
                  "If the key is held: return_existing|reject|wait|terminate_existing")
      ->type_name("POLICY")
      ->default_str("return_existing");
  command.add_option("--reuse", options.texts["reuse"], "If the holder ended: failed_only|reject|allow")
      ->type_name("POLICY");
  command.add_option("--delay", options.texts["delay"], "Start after this delay: 90s, 15m, 12h, 30d")->type_name("D");
  command.add_option("--run-at", options.texts["run_at"], "Start at or after: 2026-03-01T09:00:00Z")->type_name("TIME");
  command.add_option("--priority", options.numbers["priority"], "Higher is claimed first, -32768 to 32767")
      ->type_name("N");
  command.add_option("--deadline", options.texts["deadline"], "Limit for all attempts; then timed_out")->type_name("D");
  command.add_option("--tag", fields.tags, "Tag; may be repeated")->type_name("T")->allow_extra_args(false);
  command.add_option("--metadata", options.metadata, "Metadata object: JSON, @FILE or -")->type_name("JSON");
  command.add_option("--traceparent", fields.traceparent, "W3C trace context, passed to the handler")
      ->type_name("TEXT")
      ->envname("HAPAX_TRACEPARENT");
  command.add_option("--tracestate", fields.tracestate, "W3C tracestate, beside --traceparent")
      ->type_name("TEXT")
      ->envname("HAPAX_TRACESTATE");
  command.add_flag("--wait", options.wait, "Wait for the outcome and print it");
  command.add_option("--wait-timeout", options.wait_timeout, "Wait at most D")->type_name("D");
}

int admit_one(Shell& shell, const AdmitOptions& asked) {
  AdmitOptions options = asked;
  if (options.input) { options.fields.input = read_payload(*options.input, "input", shell.payload_limit()); }
  if (options.metadata) { options.fields.metadata = read_payload(*options.metadata, "metadata"); }
  drop_unusable_trace(options.fields);
  const std::optional<Duration> wait_timeout = optional_duration(options.wait_timeout, "--wait-timeout");
  shell.when_store_is_missing(MissingStore::make);
  shell.use_configuration();
  Backend& backend = shell.backend();
  const RequestFields fields = read_flags(options);
  const std::string document = backend.admit(fields);
  const model::Admission admission = read_admission(document);
  const bool wait_for_holder = !admission.created() && fields.options.on_conflict == OnConflict::wait;
  std::optional<model::Outcome> end;
  if (options.wait || wait_for_holder) { end = await_outcome(shell, admission.id, wait_timeout); }
  print_admission(shell, document, end);
  return options.wait ? exit_code_of(end->status) : exit_ok;
}

}  // namespace hapax::cli
