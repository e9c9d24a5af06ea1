// Dead letters: GET /v1/dead-letters, and retry, discard, annotate by ID or filter.
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/cancel_retry.hpp"
#include "api/routes/feed.hpp"
#include "api/routes/listing.hpp"
#include "base/json_out.hpp"

#include <functional>

namespace hapax::api {

namespace {

http::Response list_dead_letters(Api& api, http::Call& call) {
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  return json_answer(
      call.blocking([&] { return list_page(api.store(), listing_of(call.request(), *tenant, ListOf::dead_letters)); }));
}

// The dead letters of a selection. Named executions that are not dead letters are left out; POST /v1/executions/retry
// retries them.
app::Selection only_dead(const app::Operations& operations, http::Call& call, app::Selection selection) {
  if (selection.query) {
    selection.query->dead_only = true;
    return selection;
  }
  const app::Page dead = call.blocking([&] { return operations.dead_letters(selection.ids); });
  selection.ids.clear();
  for (const model::Execution& execution : dead) { selection.ids.push_back(execution.id); }
  return selection;
}

http::Response retry_dead_letters(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"ids", "filter", "all", "new_effect_key"});
  return json_answer(retry_selected(api, call, only_dead(api.operations(call), call, selection_of(body)),
                                    {.new_effect_key = body.flag("new_effect_key")}));
}

http::Response act_on(Api& api, http::Call& call, app::Selection selection, const char* verb,
                      const std::function<int(const app::Operations&, const app::Page&)>& act) {
  const app::Operations operations = api.operations(call);
  std::int64_t total = 0;
  const bool all = each_batch(call, operations, std::move(selection), [&](const app::Page& page) {
    total += act(operations, page);
    for (const model::Execution& execution : page) { api.feeds().changed(operations.namespace_name(), execution.id); }
  });
  return json_answer(with_more(base::JsonObject().number(verb, total), !all));
}

http::Response discard(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"ids", "filter", "all"});
  return act_on(api, call, only_dead(api.operations(call), call, selection_of(body)), "discarded",
                [](const app::Operations& operations, const app::Page& page) { return operations.discard(page); });
}

http::Response annotate(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"ids", "filter", "all", "note"});
  const app::Selection selection = selection_of(body);
  if (!body.has("note")) { throw InvalidArgument("note", "is missing; expected a text; an empty one takes it off"); }
  const std::string note = body.text("note");
  app::Operations::check_note(note);
  return act_on(
      api, call, only_dead(api.operations(call), call, selection), "annotated",
      [&note](const app::Operations& operations, const app::Page& page) { return operations.annotate(page, note); });
}

}  // namespace

void add_dead_letter_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  router.add(
      {.method = "GET", .pattern = "/v1/dead-letters", .scope = http::Scope::read, .handler = [api](http::Call& call) {
         return list_dead_letters(*api, call);
       }});
  const auto add = [&](const char* pattern, http::Response (*answer)(Api&, http::Call&)) {
    router.add({.method = "POST",
                .pattern = pattern,
                .scope = http::Scope::admin,
                .body = http::BodyRule::json,
                .handler = [api, answer](http::Call& call) { return answer(*api, call); }});
  };
  add("/v1/dead-letters/retry", retry_dead_letters);
  add("/v1/dead-letters/discard", discard);
  add("/v1/dead-letters/annotate", annotate);
}

}  // namespace hapax::api
