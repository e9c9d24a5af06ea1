// GET /v1/executions, and one execution: the execution itself, its attempts, journal, result and explanation.
#include "api/execution_json.hpp"
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/listing.hpp"
#include "api/routes/waiting.hpp"
#include "app/find.hpp"
#include "base/json_out.hpp"
#include "model/unreadable.hpp"

namespace hapax::api {

namespace {

http::Response list_executions(Api& api, http::Call& call) {
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  return json_answer(call.blocking([&] { return list_page(api.store(), listing_of(call.request(), *tenant)); }));
}

// Finds an execution by its request's key, or by the name of an activity's run.
http::Response find(Api& api, http::Call& call) {
  check_query(call.request(), {"task", "task_id", "idempotency_key", "workflow", "workflow_id", "queue", "run"});
  const auto given = [&call](std::string_view name) { return call.request().parameter(name); };
  const std::optional<std::string> key = given("task_id") ? given("task_id") : given("idempotency_key");
  const int ways = (given("task") ? 1 : 0) + (given("workflow") ? 1 : 0) + (given("run") ? 1 : 0);
  const bool is_whole =
      given("task").has_value() == key.has_value() && given("workflow").has_value() == given("workflow_id").has_value();
  if (ways != 1 || !is_whole) {
    throw InvalidArgument("task", "say which: task and task_id, workflow and workflow_id, or run");
  }
  const std::string& namespace_name = call.principal().namespace_name;
  const Uuid id = call.blocking([&] {
    if (given("run")) { return app::find_run(api.store(), namespace_name, *given("run")); }
    const bool by_task = given("task").has_value();
    engine::CatalogueCache catalogue(api.store(), namespace_name);
    return app::find_by_key(api.store(), namespace_name, catalogue,
                            {.kind = by_task ? model::Kind::task : model::Kind::workflow,
                             .task = {.name = by_task ? *given("task") : *given("workflow"), .options = {}},
                             .key = by_task ? *key : *given("workflow_id"),
                             .queue = given("queue")});
  });
  return json_answer(base::JsonObject().text("id", id.to_string()).str());
}

http::Response show_executions(Api& api, http::Call& call) {
  check_query(call.request(), {});
  const Uuid id = path_id(call);
  const std::string& namespace_name = call.principal().namespace_name;
  return json_answer(call.blocking([&] {
    const model::Execution execution = api.find(namespace_name, id);
    return api::shown_execution_json(api.tenant(namespace_name)->app(), execution);
  }));
}

http::Response attempts(Api& api, http::Call& call) {
  check_query(call.request(), {});
  const Uuid id = path_id(call);
  return json_answer(call.blocking([&] {
    (void)api.find_briefly(call.principal().namespace_name, id);
    base::JsonObject object;
    object.text("id", id.to_string());
    return object.raw("attempts", api::attempts_json(api.store().attempts(id))).str();
  }));
}

// A task's journal (ctx.once) is no timeline, so the list is empty.
http::Response journal(Api& api, http::Call& call) {
  check_query(call.request(), {"format"});
  const Uuid id = path_id(call);
  const std::string& namespace_name = call.principal().namespace_name;
  const std::string format = call.request().parameter("format").value_or("timeline");
  if (format != "timeline" && format != "export") {
    throw InvalidArgument("format", "expected timeline, for people, or export, for a replay test");
  }
  return json_answer(call.blocking([&] {
    (void)api.find_briefly(namespace_name, id);
    App app = api.tenant(namespace_name)->app();
    if (format == "export") { return app.export_journal(id); }
    base::JsonObject object;
    object.text("id", id.to_string());
    return object.raw("journal", api::timeline_json(app.timeline(id))).str();
  }));
}

// The outcome as the store has it now. The store also decides whether a missing record has expired, so that all of its
// servers answer alike.
model::Outcome standing(Api& api, const std::string& namespace_name, const Uuid& id) {
  const std::optional<model::Execution> found = api.store().get(id);
  if (!found && api.store().has_expired(namespace_name, id)) {
    throw ResultExpired("the record of execution " + id.to_string() +
                        " was deleted by retention, and its result with it");
  }
  model::Execution execution = api.find(namespace_name, id);
  while (execution.continued_as) {
    // The last run's record may expire before those of the runs that led to it.
    const std::optional<model::Execution> next = api.store().get(*execution.continued_as);
    if (!next) { throw ResultExpired("the last run of workflow " + id.to_string() + " is gone (retention)"); }
    execution = *next;
  }
  model::check_readable(execution);
  return {.id = execution.id,
          .status = execution.status,
          .result = execution.result,
          .error = execution.error,
          .continued_as = std::nullopt};
}

http::Response result(Api& api, http::Call& call) {
  check_query(call.request(), {"wait"});
  const Uuid id = path_id(call);
  const std::string& namespace_name = call.principal().namespace_name;
  const std::optional<std::string> wait = call.request().parameter("wait");
  const Duration at_most = wait ? checked_wait(parse_duration(*wait, "wait"), "wait") : Duration::zero();
  model::Outcome outcome = call.blocking([&] { return standing(api, namespace_name, id); });
  if (!is_terminal(outcome.status) && at_most > Duration::zero()) {
    const Uuid last = outcome.id;
    if (std::optional<model::Outcome> end = wait_for_outcome(call, api.engine(), last, at_most)) {
      outcome = std::move(*end);
    } else {
      outcome = call.blocking([&] { return standing(api, namespace_name, last); });
    }
  }
  if (is_terminal(outcome.status)) { return json_answer(api::outcome_json(outcome)); }
  base::JsonObject object;
  object.text("id", outcome.id.to_string()).text("status", to_string(outcome.status));
  return json_answer(object.str(), 202);
}

http::Response explain(Api& api, http::Call& call) {
  check_query(call.request(), {});
  const Uuid id = path_id(call);
  return json_answer(call.blocking([&] {
    const app::Operations operations = api.operations(call);
    app::Operations::Explained explained = operations.explain(id);
    if (api.end_if_overdue(explained.execution)) { explained = operations.explain(id); }
    return api::explain_json(explained.execution, explained.reasons);
  }));
}

}  // namespace

void add_execution_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  const auto add = [&](const char* pattern, http::Response (*answer)(Api&, http::Call&)) {
    router.add(
        {.method = "GET", .pattern = pattern, .scope = http::Scope::read, .handler = [api, answer](http::Call& call) {
           return answer(*api, call);
         }});
  };
  add("/v1/executions", list_executions);
  add("/v1/executions/find", find);
  add("/v1/executions/{id}", show_executions);
  add("/v1/executions/{id}/attempts", attempts);
  add("/v1/executions/{id}/journal", journal);
  add("/v1/executions/{id}/result", result);
  add("/v1/executions/{id}/explain", explain);
}

}  // namespace hapax::api
