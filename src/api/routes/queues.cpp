// Queues: GET /v1/overview, GET /v1/queues, GET and PUT /v1/queues/{queue}, pause, resume, drain, purge and move.
#include "api/execution_json.hpp"
#include "api/overview_json.hpp"
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/feed.hpp"
#include "app/config/queue_keys.hpp"
#include "base/json_out.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "model/validate.hpp"

namespace hapax::api {

namespace {

http::Response list_queues(Api& api, http::Call& call) {
  check_query(call.request(), {});
  return json_answer(call.blocking([&] {
    std::vector<std::string> items;
    for (const model::QueueInfo& info : api.store().queues(call.principal().namespace_name)) {
      items.push_back(api::queue_json(info));
    }
    return base::JsonObject().raw("queues", base::json_array(items)).str();
  }));
}

http::Response show_queues(Api& api, http::Call& call) {
  check_query(call.request(), {});
  const model::QueueRef queue = path_queue(call);
  return json_answer(call.blocking([&] { return api::queue_json(api.operations(call).queue(queue)); }));
}

// The data of `hapax top`.
http::Response overview(Api& api, http::Call& call) {
  check_query(call.request(), {});
  return json_answer(call.blocking(
      [&] { return api::overview_json(api::take_overview(api.store(), call.principal().namespace_name)); }));
}

// PUT and calls with "create" make a missing queue; all other calls refuse an unknown name as mistyped.
http::Response configure(Api& api, http::Call& call, const model::QueuePatch& patch, app::Absent absent) {
  const model::QueueRef queue = path_queue(call);
  http::Response answer =
      json_answer(call.blocking([&] { return api::queue_json(api.operations(call).configure(queue, patch, absent)); }));
  api.feeds().queues_changed(queue.namespace_name);
  return answer;
}

// A value sets a setting, null removes it, and a setting that is not named stays as it is.
http::Response put_queues(Api& api, http::Call& call) {
  const std::string& body = call.body();
  (void)base::JsonView(body, {"retention", "failed_retention", "dedup_window", "rate_limit", "key_rate_limit",
                              "concurrency", "worker_concurrency", "key_concurrency", "paused"});
  model::QueuePatch patch;
  if (!body.empty()) {
    for (const base::JsonMember& member : base::json_members(body, "body")) {
      const config::QueueKey& key = *config::find_queue_key(member.name);
      if (member.value == "null") {
        key.remove(patch);
        continue;
      }
      const bool is_text = member.value.front() == '"';
      const bool wants_text = key.kind == config::QueueKey::Kind::duration || key.kind == config::QueueKey::Kind::rate;
      if (wants_text && !is_text) {
        throw InvalidArgument(
            member.name, "expected a string such as " +
                             std::string(key.name.ends_with("rate_limit") ? "\"100/sec\"" : "\"30d\"") + "; came " +
                             base::echo(member.value));
      }
      const std::string text = is_text ? base::json_string(member.value, member.name) : std::string(member.value);
      config::set_queue_value(patch, key, text, member.name);
    }
  }
  return configure(api, call, patch, app::Absent::make);
}

// Does the steps of an act on store threads. False: interrupted with work left.
template <class Steps>
bool finish_steps(http::Call& call, Steps& steps) {
  while (call.blocking([&] { return steps.step(); })) {
    if (!call.may_continue()) { return false; }
  }
  return true;
}

http::Response purge(Api& api, http::Call& call) {
  (void)base::JsonView(call.body(), {});
  const model::QueueRef queue = path_queue(call);
  const app::Operations operations = api.operations(call);
  app::PurgeSteps steps = call.blocking([&] { return app::PurgeSteps(operations, queue); });
  const bool all = finish_steps(call, steps);
  api.feeds().queues_changed(queue.namespace_name);
  base::JsonObject object;
  object.number("purged", steps.purged().cancelled).number("requested", steps.purged().requested);
  return json_answer(with_more(std::move(object), !all));
}

http::Response move(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"to", "limit", "create"});
  const model::QueueRef from = path_queue(call);
  app::Moving moving{.to = {.namespace_name = from.namespace_name, .name = body.require_text("to", "payments-slow")}};
  model::check_name(moving.to.name, "to");
  moving.limit = body.integer("limit", INT64_MAX);
  if (body.flag("create")) { moving.target = app::Absent::make; }
  const app::Operations operations = api.operations(call);
  app::MoveSteps steps = call.blocking([&] { return app::MoveSteps(operations, from, moving); });
  const bool all = finish_steps(call, steps);
  api.feeds().queues_changed(from.namespace_name);
  return json_answer(with_more(base::JsonObject().number("moved", steps.moved()), !all));
}

}  // namespace

void add_queue_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  const auto read = [&](const char* pattern, http::Response (*answer)(Api&, http::Call&)) {
    router.add(
        {.method = "GET", .pattern = pattern, .scope = http::Scope::read, .handler = [api, answer](http::Call& call) {
           return answer(*api, call);
         }});
  };
  const auto change = [&](const char* method, const char* pattern, http::Handler handler) {
    router.add({.method = method,
                .pattern = pattern,
                .scope = http::Scope::admin,
                .body = http::BodyRule::json,
                .handler = std::move(handler)});
  };
  const auto stop = [&](const char* pattern, const model::QueuePatch& with) {
    change("POST", pattern, [api, with](http::Call& call) {
      const base::JsonView body(call.body(), {"create"});
      return configure(*api, call, with, body.flag("create") ? app::Absent::make : app::Absent::refuse);
    });
  };
  read("/v1/overview", overview);
  read("/v1/queues", list_queues);
  read("/v1/queues/{queue}", show_queues);
  change("PUT", "/v1/queues/{queue}", [api](http::Call& call) { return put_queues(*api, call); });
  stop("/v1/queues/{queue}/pause", {.paused = true});
  stop("/v1/queues/{queue}/drain", {.draining = true});
  change("POST", "/v1/queues/{queue}/resume", [api](http::Call& call) {
    (void)base::JsonView(call.body(), {});
    return configure(*api, call, {.paused = false, .draining = false}, app::Absent::refuse);
  });
  change("POST", "/v1/queues/{queue}/purge", [api](http::Call& call) { return purge(*api, call); });
  change("POST", "/v1/queues/{queue}/move", [api](http::Call& call) { return move(*api, call); });
}

}  // namespace hapax::api
