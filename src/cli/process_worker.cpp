#include "cli/process_worker.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"
#include "cli/exit_code.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <system_error>

namespace hapax::cli {
namespace {

constexpr Duration workflow_pause = std::chrono::seconds(1);

// Newlines in JSON are only ever blanks between tokens, so replacing them changes nothing but the layout.
std::string one_line(const std::string& json) {
  std::string line = json;
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::replace(line.begin(), line.end(), '\r', ' ');
  return line + "\n";
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) { return {}; }
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// "exit status 1: no such order": appends the last line of standard error, where most programs print the reason.
std::string with_last_line(std::string text, std::string_view error_tail) {
  const std::string_view tail = trimmed(error_tail);
  const std::string_view last = tail.substr(tail.find_last_of('\n') + 1);
  if (!last.empty()) { text += ": " + base::escape_invalid(last); }
  return base::keep_head(text, 500);
}

struct Fault {
  std::string type;
  std::string message;
  bool permanent = false;
};

engine::Ending failed(Fault fault, const ChildResult& result) {
  model::Failure failure;
  failure.error = {.type = std::move(fault.type),
                   .message = std::move(fault.message),
                   .detail = base::keep_tail(base::escape_invalid(result.error_tail), limits::error_detail_bytes)};
  failure.permanent = fault.permanent;
  return engine::Ending::failed(std::move(failure));
}

// The result from the standard output: JSON as it is, any other text as a JSON string without the newlines at its end.
// None if the result is over the limit.
std::optional<std::string> result_of(const ChildResult& result) {
  if (result.output_cut) { return std::nullopt; }
  const std::string_view json = trimmed(result.output);
  if (json.empty()) { return "null"; }
  try {
    base::check_json(json, "standard output");
    return std::string(json);
  } catch (const Error&) {
    const std::string_view text = result.output;
    std::string quoted = base::json_quote(text.substr(0, text.find_last_not_of("\r\n") + 1));
    return quoted.size() <= base::payload_limit() ? std::optional(std::move(quoted)) : std::nullopt;
  }
}

// Exit 0 means that the program succeeded and its effect has happened, whatever it printed (docs/decisions/0034).
engine::Ending completed(const ChildResult& result) {
  return engine::Ending::completed(result_of(result).value_or("null"));
}

}  // namespace

engine::Ending ending_of(const ChildResult& result) {
  const auto with_reason = [&result](const std::string& text) { return with_last_line(text, result.error_tail); };
  if (result.timed_out) {
    return failed({"Timeout", with_reason("stopped, as it ran longer than --timeout"), false}, result);
  }
  if (!result.exit_status) {
    const char* name = sigabbrev_np(result.signal);
    const std::string signal = "killed by signal " + std::to_string(result.signal);
    return failed({"Signal", with_reason(signal + (name != nullptr ? " (SIG" + std::string(name) + ")" : "")), false},
                  result);
  }
  switch (*result.exit_status) {
    case exit_ok: return completed(result);
    case exit_data: return failed({"PermanentFailure", with_reason("exit status 65"), true}, result);
    case exit_store: return failed({"RetryRequested", with_reason("exit status 75"), false}, result);
    default:
      return failed({"ExitStatus", with_reason("exit status " + std::to_string(*result.exit_status)), false}, result);
  }
}

engine::Ending ProcessWorker::run(engine::Run& run) {
  if (killed_) { return engine::Ending::released(); }
  // The claim has a workflow because --task names it. No program can run a workflow, so the run is given back for a
  // worker that has its function.
  if (run.claim().kind == model::Kind::workflow) { return engine::Ending::snoozed(workflow_pause); }
  const std::string input = one_line(run.claim().input);
  ChildResult result;
  try {
    result = run_child({.program = program_,
                        .environment = options_.environment.of(run.claim()),
                        .input = input,
                        .stop = run.stop_token(),
                        .timeout = options_.timeout,
                        .kill_after = options_.kill_after,
                        .output_bytes = base::payload_limit(),
                        .error_bytes = limits::error_detail_bytes},
                       groups_);
  } catch (const std::system_error& error) {
    return engine::Ending::failed("SpawnFailed", std::string("the program could not be started: ") + error.what());
  }
  const bool success = result.exit_status == exit_ok;
  if (success && !result.timed_out && options_.on_trouble && !result_of(result)) {
    options_.on_trouble("execution " + run.claim().id.to_string() +
                        " completed without its result: standard output is " + "over the limit of " +
                        std::to_string(base::payload_limit()) + " bytes");
  }
  if (!success && killed_) { return engine::Ending::released(); }
  if (!success && run.stop_reason() == engine::StopReason::cancel_requested) {
    engine::Ending stopped = ending_of(result);
    stopped.kind = engine::Ending::Kind::cancelled;
    return stopped;
  }
  return ending_of(result);
}

void ProcessWorker::kill_all() {
  killed_ = true;
  groups_.signal(SIGKILL);
}

}  // namespace hapax::cli
