// Cancel and retry: one execution, or many by ID or filter.
#include "api/routes/cancel_retry.hpp"

#include "api/acting_json.hpp"
#include "api/routes/answers.hpp"
#include "api/routes/feed.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "base/uuid7.hpp"
#include "store/brief.hpp"

#include <set>

namespace hapax::api {

namespace {

std::string reason_of(const Members& body, const http::Principal& principal) {
  const std::string reason = body.text("reason").value_or("cancelled through the API by " + principal.name);
  if (reason.size() > limits::error_message_bytes) {
    throw InvalidArgument("reason", "has " + std::to_string(reason.size()) + " bytes; expected at most " +
                                        std::to_string(limits::error_message_bytes));
  }
  return reason;
}

http::Response cancel(Api& api, http::Call& call) {
  const Members body(call.body(), {"reason"});
  const std::string reason = reason_of(body, call.principal());
  const Uuid id = path_id(call);
  const std::string& ns = call.principal().ns;
  const model::CancelResult result = call.blocking([&] {
    (void)api.find_briefly(ns, id);
    return api.store().cancel({&id, 1}, reason, {actor_of(call.principal())}).front();
  });
  const bool done =
      result.verdict == model::CancelVerdict::cancelled || result.verdict == model::CancelVerdict::requested;
  if (!done) { api::throw_cancel_refusal(id, result); }
  api.feeds().changed(ns, id);
  return json_answer(api::cancel_json(id, result));
}

http::Response cancel_many(Api& api, http::Call& call) {
  const Members body(call.body(), {"ids", "filter", "all", "reason"});
  const std::string reason = reason_of(body, call.principal());
  Selection selection = selection_of(body, call.principal().ns);
  if (selection.query && selection.query->statuses.empty()) {
    selection.query->statuses = {Status::pending, Status::running};
  }
  const std::string& ns = call.principal().ns;
  std::int64_t cancelled = 0;
  std::int64_t requested = 0;
  std::int64_t finished = 0;
  std::vector<std::string> items;
  const bool all = each_batch(call, api.store(), selection, [&](std::span<const Uuid> ids) {
    const std::vector<model::CancelResult> results = api.store().cancel(ids, reason, {actor_of(call.principal())});
    for (std::size_t i = 0; i < ids.size(); ++i) {
      cancelled += results[i].verdict == model::CancelVerdict::cancelled ? 1 : 0;
      requested += results[i].verdict == model::CancelVerdict::requested ? 1 : 0;
      finished += results[i].verdict == model::CancelVerdict::finished ? 1 : 0;
      if (std::ssize(items) < limits::list_page) { items.push_back(api::cancel_json(ids[i], results[i])); }
      api.feeds().changed(ns, ids[i]);
    }
  });
  base::JsonObject object;
  object.number("cancelled", cancelled).number("requested", requested).number("finished", finished);
  object.raw("executions", base::json_array(items));
  if (!all) { object.boolean("more", true); }
  return json_answer(object.str());
}

http::Response retry(Api& api, http::Call& call) {
  const Members body(call.body(), {"new_effect_key"});
  const Uuid id = path_id(call);
  const std::string& ns = call.principal().ns;
  const model::RetryRequest request{
      .id = id, .new_id = base::new_uuid7(), .new_effect_key = body.flag("new_effect_key")};
  const model::RetryResult result = call.blocking([&] {
    const model::Execution execution = api.find_briefly(ns, id);
    model::RetryResult made = api.store().retry({&request, 1}, {actor_of(call.principal())}).front();
    if (made.verdict == model::RetryVerdict::created) { api.engine().wake_workers({&execution.queue, 1}); }
    return made;
  });
  if (result.verdict != model::RetryVerdict::created) { api::throw_retry_refusal(id, result); }
  api.feeds().changed(ns, request.new_id);
  base::JsonObject object;
  object.text("id", request.new_id.to_string()).boolean("created", true);
  object.text("status", to_string(Status::pending)).number("run", std::int64_t{result.run});
  return json_answer(object.text("retried_from", id.to_string()).str(), 201);
}

http::Response retry_many(Api& api, http::Call& call) {
  const Members body(call.body(), {"ids", "filter", "all", "new_effect_key"});
  Selection selection = selection_of(body, call.principal().ns);
  if (selection.query && selection.query->statuses.empty()) { selection.query->statuses = {Status::failed}; }
  const RetryOptions options{.new_effect_key = body.flag("new_effect_key")};
  return json_answer(retry_selected(api, call, selection, options));
}

}  // namespace

std::string retry_selected(Api& api, http::Call& call, const Selection& selection, const RetryOptions& options) {
  const std::string& ns = call.principal().ns;
  std::int64_t retried = 0;
  std::int64_t refused = 0;
  std::vector<std::string> items;
  std::set<model::QueueRef> queues;
  const bool all = each_batch(call, api.store(), selection, [&](std::span<const Uuid> ids) {
    std::vector<model::RetryRequest> batch;
    for (const Uuid& id : ids) {
      batch.push_back({.id = id, .new_id = base::new_uuid7(), .new_effect_key = options.new_effect_key});
    }
    const std::vector<model::RetryResult> results = api.store().retry(batch, {actor_of(call.principal())});
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const bool made = results[i].verdict == model::RetryVerdict::created;
      ++(made ? retried : refused);
      if (std::ssize(items) < limits::list_page) { items.push_back(api::retry_json(batch[i], results[i])); }
      if (made) { api.feeds().changed(ns, batch[i].new_id); }
    }
    // Workers find the new runs by themselves; this wakes them at once.
    if (const auto first = store::get_briefly(api.store(), ns, ids.front())) { queues.insert(first->queue); }
  });
  const std::vector<model::QueueRef> changed(queues.begin(), queues.end());
  api.engine().wake_workers(changed);
  base::JsonObject object;
  object.number("retried", retried).number("refused", refused).raw("executions", base::json_array(items));
  if (!all) { object.boolean("more", true); }
  return object.str();
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
