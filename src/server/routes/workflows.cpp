// Signals, queries and forks of workflows.
#include <hapax/app.hpp>

#include "model/validate.hpp"
#include "server/routes/answers.hpp"
#include "server/routes/api.hpp"
#include "server/routes/feed.hpp"
#include "wire/acting_json.hpp"
#include "wire/execution_json.hpp"
#include "wire/json_out.hpp"

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

// Answered by a server in whose process the workflow's function is: what it knows is found by playing its journal.
Response query(Api& api, Call& call) {
  const Uuid id = path_id(call);
  const std::string& ns = call.principal().ns;
  const std::string question = call.body().empty() ? "null" : call.body();
  const std::string& name = call.parameter("name");
  const std::string answer = call.blocking([&] {
    const model::Execution execution = api.find(ns, id);
    if (execution.kind == model::Kind::workflow && !is_terminal(execution.status) &&
        !api.tenant(ns)->knows_workflow(execution.task)) {
      throw Unsupported("queries are answered where the function of workflow '" + execution.task +
                        "' is, and this server does not have it; ask through a program that handles it");
    }
    return api.tenant(ns)->app().find_any(id).query_json(name, question);
  });
  wire::JsonObject object;
  return json_answer(object.text("id", id.to_string()).text("query", name).raw("answer", answer).str());
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
