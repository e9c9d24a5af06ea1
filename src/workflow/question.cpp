#include "workflow/question.hpp"

#include <hapax/error.hpp>
#include <hapax/workflow_context.hpp>

#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"
#include "model/question.hpp"
#include "model/unreadable.hpp"
#include "store/store.hpp"
#include "workflow/host.hpp"
#include "workflow/support.hpp"

#include <optional>
#include <utility>

namespace hapax::workflow {

namespace {

constexpr const char* failed = "QueryFailed";

std::string refused(std::string_view type, std::string_view message) {
  return "{\"error\":{\"type\":" + base::json_quote(type) +
         ",\"message\":" + base::json_quote(base::keep_head(message, limits::error_message_bytes)) + "}}";
}

// Question and answer are JSON text inside strings, so that the objects around them do not add to their depth.
std::string ask(const std::shared_ptr<Host>& app, const std::string& input) {
  std::optional<Uuid> run;
  std::string query;
  std::string question = "null";
  for (const base::JsonMember& member : base::json_members(input, "input")) {
    if (member.name == "execution") { run = Uuid::parse(base::json_string(member.value, "execution")); }
    if (member.name == "query") { query = base::json_string(member.value, "query"); }
    if (member.name == "question") { question = base::json_string(member.value, "question"); }
  }
  if (!run) { throw InvalidArgument("execution", "is missing; expected the id of a run"); }
  const std::string answer = ask_run(*app, *run, query, question);
  try {
    base::check_json(answer, "answer");
  } catch (const InvalidArgument& error) { return refused(failed, error.what()); }
  std::string text = "{\"answer\":" + base::json_quote(answer) + "}";
  if (text.size() > base::payload_limit()) {
    return refused(failed, "the answer takes " + std::to_string(text.size()) + " bytes, the limit is " +
                               std::to_string(base::payload_limit()));
  }
  return text;
}

// Only a question that does not convert is the caller's fault; any other exception is a failed query.
std::string refused_by(const QueryThrew& threw) {
  try {
    std::rethrow_exception(threw.error);
  } catch (const InvalidArgument& error) {
    if (error.field() == "question") { return refused("InvalidArgument", error.what()); }
    return refused(failed, error.name() + ": " + error.what());
  } catch (const Error& error) {
    return refused(failed, error.name() + ": " + error.what());
  } catch (const std::exception& error) { return refused(failed, error.what()); } catch (...) {
    return refused(failed, "the query function threw something that is not a std::exception");
  }
}

// Returns a refusal as an answer, because a refused question is not failed work. Throws only while the store is away,
// so that the question is tried again.
std::string answer(const std::weak_ptr<Host>& weak, const std::string& input) {
  const auto app = weak.lock();
  if (!app) { throw ShuttingDown(); }
  try {
    return ask(app, input);
  } catch (const QueryThrew& threw) { return refused_by(threw); } catch (const StoreUnavailable&) {
    throw;
  } catch (const Error& error) { return refused(error.name(), error.what()); } catch (const std::exception& error) {
    return refused(failed, error.what());
  }
}

}  // namespace

model::Claim claim_like(const model::Execution& execution, Time now) {
  model::Claim claim;
  claim.id = execution.id;
  claim.queue = execution.queue;
  claim.task = execution.task;
  claim.kind = execution.kind;
  claim.input = execution.input;
  claim.fence = execution.fence;
  claim.run = execution.run;
  claim.created_at = execution.created_at;
  claim.claimed_at = now;
  claim.parent = execution.parent;
  claim.labels = execution.labels;
  return claim;
}

std::string ask_run(Host& host, const Uuid& id, std::string_view name, const std::string& question_json) {
  base::check_json(question_json, "question");
  auto execution = host.store().get(id);
  while (execution && execution->continued_as) { execution = host.store().get(*execution->continued_as); }
  if (!execution || execution->queue.namespace_name != host.namespace_name()) {
    throw NotFound("no execution " + id.to_string() + " in namespace '" + host.namespace_name() + "'");
  }
  if (execution->kind != model::Kind::workflow) {
    throw InvalidArgument("execution", id.to_string() + " is a task; only workflows answer queries");
  }
  if (is_terminal(execution->status)) {
    throw WrongStatus("workflow " + execution->id.to_string() + " has ended as " +
                          std::string(to_string(execution->status)) +
                          "; an ended workflow answers no queries, but its result is kept",
                      execution->status);
  }
  const model::HistoryRequest request{.execution = execution->id};
  auto histories = host.store().histories({&request, 1});
  model::check_readable(histories.front());
  std::optional<std::string> answer;
  std::vector<std::string> known;
  const auto ask = [&](detail::WorkflowRun& run) {
    if (!run.suspended()) { return; }
    try {
      answer = run.answer(name, question_json);
    } catch (...) { throw QueryThrew{std::current_exception()}; }
    known = run.queries();
  };
  const auto replayed =
      host.support()->replay_to_end(claim_like(*execution, host.store().now()), std::move(histories.front()), ask);
  if (!replayed.stuck.empty()) {
    throw WrongStatus(
        "workflow " + execution->id.to_string() + " cannot be replayed with the code here: " + replayed.stuck,
        execution->status);
  }
  if (!answer) {
    std::string text =
        "workflow '" + execution->task + "' has no query '" + std::string(name) + "' at this point; it has ";
    if (known.empty()) { text += "none"; }
    for (std::size_t i = 0; i < known.size(); ++i) { text += (i == 0 ? "" : ", ") + known[i]; }
    throw NotFound(text);
  }
  return *answer;
}

Function answering(std::weak_ptr<Host> app) {
  return [app = std::move(app)](WorkflowContext& context, const std::string& input) {
    // The step does not return the answer, because the answer would then be stored twice.
    std::string text = refused(failed, "the worker that was asked was lost");
    context.step("answer", [&] { text = answer(app, input); });
    return text;
  };
}

}  // namespace hapax::workflow
