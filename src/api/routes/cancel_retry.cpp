// Cancel and retry: one execution, or many by ID or filter.
#include "api/routes/cancel_retry.hpp"

#include "api/acting_json.hpp"
#include "api/routes/answers.hpp"
#include "api/routes/feed.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"

namespace hapax::api {

namespace {

std::string reason_of(const base::JsonView& body, const http::Principal& principal) {
  std::string reason = body.find_text("reason").value_or("cancelled through the API by " + principal.name);
  app::Operations::check_reason(reason);
  return reason;
}

http::Response cancel(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"reason"});
  const std::string reason = reason_of(body, call.principal());
  const Uuid id = path_id(call);
  const app::Operations operations = api.operations(call);
  const model::CancelResult result = call.blocking([&] { return operations.cancel(id, reason); });
  api.feeds().changed(operations.namespace_name(), id);
  return json_answer(api::cancel_json(id, result));
}

http::Response cancel_many(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"ids", "filter", "all", "reason"});
  const std::string reason = reason_of(body, call.principal());
  app::Selection selection = selection_of(body);
  if (selection.query) { app::select_unfinished(*selection.query); }
  const app::Operations operations = api.operations(call);
  CancelTally tally;
  const bool all = each_batch(call, operations, std::move(selection), [&](const app::Page& page) {
    tally.add(page, operations.cancel(page, reason));
    for (const model::Execution& execution : page) { api.feeds().changed(operations.namespace_name(), execution.id); }
  });
  return json_answer(with_more(tally.json(), !all));
}

http::Response retry(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"new_effect_key"});
  const Uuid id = path_id(call);
  const app::Operations operations = api.operations(call);
  const app::RetryOptions options{.new_effect_key = body.flag("new_effect_key")};
  const app::Retried retried = call.blocking([&] { return operations.retry(id, options); });
  api.feeds().changed(operations.namespace_name(), retried.new_id);
  base::JsonObject object;
  object.text("id", retried.new_id.to_string()).boolean("created", true);
  object.text("status", to_string(Status::pending)).number("run", std::int64_t{retried.result.run});
  return json_answer(object.text("retried_from", id.to_string()).str(), 201);
}

http::Response retry_many(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"ids", "filter", "all", "new_effect_key"});
  app::Selection selection = selection_of(body);
  if (selection.query) { app::select_failed(*selection.query); }
  return json_answer(retry_selected(api, call, std::move(selection), {.new_effect_key = body.flag("new_effect_key")}));
}

}  // namespace

std::string retry_selected(Api& api, http::Call& call, app::Selection selection, const app::RetryOptions& options) {
  const app::Operations operations = api.operations(call);
  RetryTally tally;
  const bool all = each_batch(call, operations, std::move(selection), [&](const app::Page& page) {
    const std::vector<app::Retried> batch = operations.retry(page, options);
    tally.add(batch);
    for (const app::Retried& retried : batch) {
      if (retried.result.verdict == model::RetryVerdict::created) {
        api.feeds().changed(operations.namespace_name(), retried.new_id);
      }
    }
  });
  return with_more(tally.json(), !all);
}

void add_act_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  const auto add = [&](const char* pattern, http::Response (*answer)(Api&, http::Call&)) {
    router.add({.method = "POST",
                .pattern = pattern,
                .scope = http::Scope::admin,
                .body = http::BodyRule::json,
                .handler = [api, answer](http::Call& call) { return answer(*api, call); }});
  };
  add("/v1/executions/cancel", cancel_many);
  add("/v1/executions/retry", retry_many);
  add("/v1/executions/{id}/cancel", cancel);
  add("/v1/executions/{id}/retry", retry);
}

}  // namespace hapax::api
