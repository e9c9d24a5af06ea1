#include "cli/admitting.hpp"

#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/awaiting.hpp"
#include "cli/backend.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "model/trace_context.hpp"
#include "wire/execution_read.hpp"

#include <cstdio>

namespace hapax::cli {
namespace {

void print_admission(const Shell& shell, const std::string& document, const std::optional<model::Outcome>& end) {
  const model::Admission admission = read_admission(document);
  const Status status = end ? end->status : admission.status;
  const std::optional<std::string> result = end && end->result ? end->result : admission.result;
  // Only the key is still held: what came of it is not null, it is not known any more (SPEC I13).
  const bool result_expired = !end && admission.expired;
  // Nil: a debounced request of a token that may not read.
  const std::string id = admission.id.is_nil() ? "one that is not told" : admission.id.to_string();
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

// Trace context never refuses work (SPEC V2).
void drop_unusable_trace(RequestFields& fields) {
  if (fields.traceparent.empty() || !model::accepted_traceparent(fields.traceparent).empty()) { return; }
  std::fprintf(stderr, "remark: --traceparent (HAPAX_TRACEPARENT) '%s' is no W3C trace context and is ignored\n",
               base::printable(base::keep_head(fields.traceparent, 100)).c_str());
  fields.traceparent.clear();
}

}  // namespace

void add_admit_flags(CLI::App& command, AdmitOptions& options) {
  RequestFields& fields = options.fields;
  command.add_option("--input", options.input, "Input: JSON, @FILE, or - for standard input (default: null)")
      ->type_name("JSON|@FILE|-");
  command.add_option("--queue", fields.queue, "Queue, made on first use (default: the catalogue's, or default)")
      ->type_name("Q");
  command
      .add_option("--on-conflict", fields.on_conflict,
                  "When the key is taken: return_existing, reject, wait or terminate_existing")
      ->type_name("POLICY")
      ->capture_default_str();
  command.add_option("--reuse", fields.reuse, "When the key's holder has ended: failed_only, reject or allow")
      ->type_name("POLICY");
  command.add_option("--delay", fields.delay, "Not before this much time has passed: 90s, 15m, 12h, 30d")
      ->type_name("D");
  command.add_option("--run-at", fields.run_at, "Not before this instant: 2026-03-01T09:00:00Z")->type_name("TIME");
  command.add_option("--priority", fields.priority, "Higher is claimed first, -32768 to 32767")->type_name("N");
  command.add_option("--deadline", fields.deadline, "For the whole of it; then it is timed_out")->type_name("D");
  command.add_option("--tag", fields.tags, "A tag; may be repeated")->type_name("T")->allow_extra_args(false);
  command.add_option("--metadata", options.metadata, "A JSON object kept with it: JSON, @FILE or -")->type_name("JSON");
  command.add_option("--traceparent", fields.traceparent, "W3C trace context handed on to the handler")
      ->type_name("TEXT")
      ->envname("HAPAX_TRACEPARENT");
  command.add_flag("--wait", options.wait, "Wait for the outcome and print it");
  command.add_option("--wait-timeout", options.wait_timeout, "At most this long")->type_name("D");
}

int admit_one(Shell& shell, const AdmitOptions& options) {
  RequestFields fields = options.fields;
  if (options.input) { fields.input = read_payload(*options.input, "input", shell.payload_limit()); }
  if (options.metadata) { fields.metadata = read_payload(*options.metadata, "metadata"); }
  drop_unusable_trace(fields);
  const std::optional<Duration> wait_timeout = optional_duration(options.wait_timeout, "--wait-timeout");
  shell.when_store_is_missing(MissingStore::make);
  shell.use_configuration();
  const std::string document = shell.backend().admit(fields);
  const model::Admission admission = read_admission(document);
  const bool wait_for_holder = !admission.created() && fields.on_conflict == "wait";
  std::optional<model::Outcome> end;
  if (options.wait || wait_for_holder) { end = await_outcome(shell, admission.id, wait_timeout); }
  print_admission(shell, document, end);
  return options.wait ? exit_code_of(end->status) : exit_ok;
}

}  // namespace hapax::cli
