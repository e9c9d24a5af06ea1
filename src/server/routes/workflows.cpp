// Signals, queries and forks of workflows.
#include <hapax/app.hpp>

#include "base/json.hpp"
#include "model/query_task.hpp"
#include "model/validate.hpp"
#include "server/http_error.hpp"
#include "server/routes/answers.hpp"
#include "server/routes/api.hpp"
#include "server/routes/feed.hpp"
#include "server/routes/waiting.hpp"
#include "wire/acting_json.hpp"
#include "wire/execution_json.hpp"
#include "wire/json_out.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace hapax::server {

namespace {

// The body is the signal's payload; an empty one is null.
Response signal(Api& api, Call& call) {
  check_query(call.request(), {"once"});
  const Uuid id = path_id(call);
  const std::string& ns = call.principal().ns;
  const std::string data = call.body().empty() ? "null" : call.body();
  const std::optional<std::string> once = call.request().parameter("once");
  const std::string& name = call.parameter("name");
  if (once) { model::check_key(*once, "once"); }
  const model::Execution got = call.blocking([&] {
    const model::Execution asked = api.find(ns, id);
    wire::require_workflow(asked);
    api.tenant(ns)->app_of(actor_of(call.principal())).find_any(id).signal_json(name, data, once);
    model::Execution last = asked;
    while (last.continued_as) { last = api.find(ns, *last.continued_as); }
    return last;
  });
  api.feeds().changed(ns, got.id);
  return json_answer(wire::signalled_json(got, name));
}

constexpr Duration usual_query_wait = std::chrono::seconds(10);

Duration query_wait(const Request& request) {
  const std::optional<std::string> given = request.parameter("wait");
  return given ? std::min(parse_duration(*given, "wait"), longest_poll) : usual_query_wait;
}

// The run that is to be asked: the last that it was continued as. Throws what no worker could answer either.
model::Execution asked_run(Api& api, const std::string& ns, const Uuid& id) {
  model::Execution found = api.find(ns, id);
  while (found.continued_as) { found = api.find(ns, *found.continued_as); }
  wire::require_workflow(found);
  if (is_terminal(found.status)) {
    throw WrongStatus("workflow " + found.id.to_string() + " has ended as " + std::string(to_string(found.status)) +
                          "; what it knew is gone, its result is kept",
                      found.status);
  }
  return found;
}

// What the worker refused, as if it had been refused here.
[[noreturn]] void refuse_query(const nlohmann::json& error, const model::Execution& asked) {
  const std::string name = error.at("type").get<std::string>();
  const std::string message = error.at("message").get<std::string>();
  if (name == "NotFound") { throw NotFound(message); }
  if (name == "WrongStatus") { throw WrongStatus(message, asked.status); }
  throw HttpError(502, "QueryFailed", "the worker that was asked could not answer: " + name + ": " + message);
}

// Asks a worker that has the workflow's function, by a task of its own (model/query_task.hpp): what the run knows is found
// by playing its journal there.
Response query(Api& api, Call& call) {
  check_query(call.request(), {"wait"});
  const Uuid id = path_id(call);
  const std::string& ns = call.principal().ns;
  const std::string question = call.body().empty() ? "null" : call.body();
  base::check_json(question, "question");
  const std::string& name = call.parameter("name");
  model::check_name(name, "query");
  const Duration wait = query_wait(call.request());
  const model::Execution run = call.blocking([&] { return asked_run(api, ns, id); });
  const std::optional<std::string> task = model::query_task(run.task);
  if (!task) { throw Unsupported("the name of workflow '" + run.task + "' is too long to be asked by"); }
  wire::JsonObject asking;
  asking.text("execution", run.id.to_string()).text("query", name).raw("question", question);
  const std::string input = asking.str();
  AnyHandle asked = call.blocking([&] {
    return api.tenant(ns)
        ->app_of(actor_of(call.principal()))
        .enqueue_json({.name = *task}, input,
                      {.queue = std::string(model::query_queue), .traceparent = call.traceparent()});
  });
  const std::optional<model::Outcome> end = wait_for_outcome(call, api.engine(), asked.id(), wait);
  if (!end) {
    call.blocking([&] { (void)asked.cancel("nobody answered in time"); });
    throw HttpError(
        504, "QueryTimeout",
        "no worker that has workflow '" + run.task + "' answered within " + format_duration(wait) + "; is one running?")
        .with("Retry-After", "5");
  }
  const auto told = nlohmann::json::parse(end->result.value_or("null"), nullptr, false);
  if (told.is_object() && told.contains("error")) { refuse_query(told["error"], run); }
  if (end->status != Status::completed || !told.is_object() || !told.contains("answer")) {
    throw HttpError(502, "QueryFailed", "the question ended as " + std::string(to_string(end->status)));
  }
  wire::JsonObject object;
  return json_answer(object.text("id", id.to_string()).text("query", name).raw("answer", told["answer"].dump()).str());
}

Response fork(Api& api, Call& call) {
  const Members body(call.body(), {"steps", "workflow_id"});
  const std::string workflow_id = body.require_text("workflow_id", "order-456-again");
  model::check_key(workflow_id, "workflow_id");
  const std::optional<std::int64_t> steps = body.integer("steps");
  if (!steps) { throw InvalidArgument("steps", "is missing; expected how many entries the new run has behind it"); }
  if (*steps < 0 || *steps > INT32_MAX) {
    throw InvalidArgument("steps", std::to_string(*steps) + " is out of range; expected 0 or more");
  }
  const Uuid id = path_id(call);
  const std::string& ns = call.principal().ns;
  return call.blocking([&] {
    (void)api.find(ns, id);
    const AnyHandle forked =
        api.tenant(ns)
            ->app_of(actor_of(call.principal()))
            .fork(id, static_cast<int>(*steps), {.workflow_id = workflow_id, .traceparent = call.traceparent()});
    api.seen().add(ns, forked.id());
    wire::JsonObject object;
    object.text("id", forked.id().to_string()).boolean("created", forked.created());
    object.text("status", to_string(forked.status())).number("run", std::int64_t{forked.run()});
    object.text("forked_from", id.to_string()).number("steps", *steps);
    return json_answer(object.str(), forked.created() ? 201 : 200);
  });
}

}  // namespace

void add_workflow_routes(Router& router, const std::shared_ptr<Api>& api) {
  const auto add = [&](const char* pattern, Scope scope, Response (*answer)(Api&, Call&)) {
    router.add({.method = "POST",
                .pattern = pattern,
                .scope = scope,
                .body = BodyRule::json,
                .handler = [api, answer](Call& call) { return answer(*api, call); }});
  };
  add("/v1/executions/{id}/signals/{name}", Scope::enqueue, signal);
  add("/v1/executions/{id}/queries/{name}", Scope::read, query);
  add("/v1/executions/{id}/fork", Scope::admin, fork);
}

}  // namespace hapax::server
