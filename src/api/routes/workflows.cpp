// Signals, queries and forks of workflows.
#include <hapax/app.hpp>

#include "api/acting_json.hpp"
#include "api/execution_json.hpp"
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/feed.hpp"
#include "api/routes/waiting.hpp"
#include "base/json.hpp"
#include "base/json_out.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/uuid7.hpp"
#include "http/http_error.hpp"
#include "model/question.hpp"
#include "model/validate.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <vector>

namespace hapax::api {

namespace {

// The body is the signal's payload; an empty body is null.
http::Response signal(Api& api, http::Call& call) {
  check_query(call.request(), {"once"});
  const Uuid id = path_id(call);
  const std::string data = call.body().empty() ? "null" : call.body();
  const std::optional<std::string> once = call.request().parameter("once");
  const std::string& name = call.parameter("name");
  if (once) { model::check_key(*once, "once"); }
  const model::Execution got = call.blocking([&] {
    (void)api.end_if_overdue(id);  // an execution past its deadline takes no signals
    return api.operations(call).signal({.execution = id, .name = name, .data = data, .once = once}).run;
  });
  api.feeds().changed(call.principal().namespace_name, got.id);
  return json_answer(api::signalled_json(got, name));
}

constexpr Duration usual_query_wait = std::chrono::seconds(10);
// A question whose server died before it could withdraw the question ends this long after the wait.
constexpr Duration question_slack = std::chrono::seconds(5);

// Returns the run to ask: the last run that `id` was continued as. Throws for a run that no worker could answer for.
model::Execution asked_run(Api& api, const std::string& namespace_name, const Uuid& id) {
  model::Execution found = api.find(namespace_name, id);
  while (found.continued_as) { found = api.find(namespace_name, *found.continued_as); }
  app::require_workflow(found);
  if (is_terminal(found.status)) {
    throw WrongStatus("workflow " + found.id.to_string() + " has ended as " + std::string(to_string(found.status)) +
                          "; an ended workflow answers no queries, but its result is kept",
                      found.status);
  }
  return found;
}

// Throws the worker's refusal as if it were made here.
[[noreturn]] void refuse_query(Api& api, std::string_view text, const model::Execution& asked) {
  std::string type = "QueryFailed";
  std::string message;
  for (const base::JsonMember& member : base::json_members(text, "error")) {
    if (member.name == "type") { type = base::json_string(member.value, "type"); }
    if (member.name == "message") { message = base::json_string(member.value, "message"); }
  }
  if (type == "NotFound") { throw NotFound(message); }
  if (type == "WrongStatus") { throw WrongStatus(message, api.find(asked.queue.namespace_name, asked.id).status); }
  if (type == "InvalidArgument" || type == "InvalidJson") { throw http::HttpError(400, type, message); }
  throw http::HttpError(
      502, "QueryFailed",
      "the worker that was asked could not answer: " + (type == "QueryFailed" ? "" : type + ": ") + message);
}

// Returns the answer's bytes as the worker gave them.
std::string answer_of(Api& api, const model::Outcome& end, const model::Execution& asked) {
  if (end.status != Status::completed) {
    throw http::HttpError(502, "QueryFailed",
                          "the question ended as " + std::string(to_string(end.status)) +
                              (end.error ? ": " + end.error->type + ": " + end.error->message : ""));
  }
  const std::string text = end.result.value_or("null");
  std::vector<base::JsonMember> members;
  try {
    members = base::json_members(text, "answer");
  } catch (const InvalidJson&) {}
  if (members.size() == 1 && members[0].name == "error") { refuse_query(api, members[0].value, asked); }
  if (members.size() != 1 || members[0].name != "answer") {
    throw http::HttpError(502, "QueryFailed", "the worker's text is not an answer to a query");
  }
  return base::json_string(members[0].value, "answer");
}

// Asks a worker that has the workflow's function, through one of hapax's own workflows (model/question.hpp): that
// worker replays the run's journal and answers from the resulting state.
http::Response query(Api& api, http::Call& call) {
  check_query(call.request(), {"wait"});
  const Uuid id = path_id(call);
  const std::string& namespace_name = call.principal().namespace_name;
  const std::string question = call.body().empty() ? "null" : call.body();
  const std::string& name = call.parameter("name");
  model::check_name(name, "query");
  const std::optional<std::string> given = call.request().parameter("wait");
  const Duration wait = given ? checked_wait(parse_duration(*given, "wait"), "wait") : usual_query_wait;
  model::Execution run;
  AnyHandle asked = call.blocking([&] {
    if (question.size() > limits::question_bytes) {
      throw PayloadTooLarge("question", question.size(), limits::question_bytes);
    }
    base::check_json(question, "question");
    run = asked_run(api, namespace_name, id);
    api.tenant(namespace_name)->prepare_questions();
    TaskSpec asking{.name = model::question_name(run.task), .options = {.queue = std::string(model::question_queue)}};
    asking.options.max_attempts = 1;
    asking.options.max_lost = 1;
    base::JsonObject input;
    input.text("execution", run.id.to_string()).text("query", name).text("question", question);
    return api.tenant(namespace_name)
        ->app_of(actor_of(call.principal()))
        .start_json(asking, input.str(),
                    {.workflow_id = base::new_uuid7().to_string(),
                     .deadline = wait + question_slack,
                     .traceparent = call.traceparent(),
                     .tracestate = call.tracestate()});
  });
  std::optional<model::Outcome> end;
  std::exception_ptr error;
  try {
    end = wait_for_outcome(call, api.engine(), asked.id(), wait);
  } catch (...) { error = std::current_exception(); }
  if (!end) {
    try {
      // The cancellation has no actor, so that the audit log does not list it.
      const Uuid withdrawn = asked.id();
      call.blocking([&] { (void)api.store().cancel({&withdrawn, 1}, "no client waits for the answer any more"); });
    } catch (const Error&) {}  // the question's deadline ends it
  }
  if (error) { std::rethrow_exception(error); }
  if (!end && call.draining()) { throw ShuttingDown(); }
  if (!end) {
    throw http::HttpError(504, "QueryTimeout",
                          "no worker that has workflow '" + run.task + "' answered within " + format_duration(wait) +
                              "; is one running and not full, and queue '" + std::string(model::question_queue) +
                              "' not paused?")
        .with("Retry-After", "5");
  }
  return call.blocking([&] {
    base::JsonObject object;
    object.text("id", id.to_string()).text("query", name).raw("answer", answer_of(api, *end, run));
    return json_answer(object.str());
  });
}

http::Response fork(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"steps", "workflow_id"});
  const std::string workflow_id = body.require_text("workflow_id", "order-456-again");
  model::check_key(workflow_id, "workflow_id");
  const std::optional<std::int64_t> steps = body.find_integer("steps");
  if (!steps) { throw InvalidArgument("steps", "is missing; expected how many entries the new run has behind it"); }
  if (*steps < 0 || *steps > INT32_MAX) {
    throw InvalidArgument("steps", std::to_string(*steps) + " is out of range; expected 0 or more");
  }
  const Uuid id = path_id(call);
  const std::string& namespace_name = call.principal().namespace_name;
  return call.blocking([&] {
    (void)api.find_briefly(namespace_name, id);
    const AnyHandle forked =
        api.tenant(namespace_name)
            ->app_of(actor_of(call.principal()))
            .fork(id, static_cast<int>(*steps),
                  {.workflow_id = workflow_id, .traceparent = call.traceparent(), .tracestate = call.tracestate()});
    return json_answer(api::forked_json(forked, id, static_cast<int>(*steps)), forked.created() ? 201 : 200);
  });
}

}  // namespace

void add_workflow_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  const auto add = [&](const char* pattern, http::Scope scope, http::Response (*answer)(Api&, http::Call&)) {
    router.add({.method = "POST",
                .pattern = pattern,
                .scope = scope,
                .body = http::BodyRule::json,
                .handler = [api, answer](http::Call& call) { return answer(*api, call); }});
  };
  add("/v1/executions/{id}/signals/{name}", http::Scope::enqueue, signal);
  add("/v1/executions/{id}/queries/{name}", http::Scope::read, query);
  add("/v1/executions/{id}/fork", http::Scope::admin, fork);
}

}  // namespace hapax::api
