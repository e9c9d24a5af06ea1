// Dead letters: GET /v1/dead-letters, and retry, discard, annotate by ID or filter.
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/cancel_retry.hpp"
#include "api/routes/feed.hpp"
#include "api/routes/listing.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "store/brief.hpp"

#include <set>

namespace hapax::api {

namespace {

http::Response list_dead_letters(Api& api, http::Call& call) {
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().ns);
  return json_answer(
      call.blocking([&] { return list_page(api.store(), listing_of(call.request(), *tenant, ListOf::dead_letters)); }));
}

// A filter selects dead letters only; among named IDs the store ignores those that are no dead letters.
Selection dead_selection(const Members& body, const std::string& ns) {
  Selection selection = selection_of(body, ns);
  if (selection.query) { selection.query->dead_only = true; }
  return selection;
}

// A single named execution that is no dead letter is an error.
void check_single(Api& api, const std::string& ns, const Selection& selection) {
  if (selection.query || selection.ids.size() != 1) { return; }
  const model::Execution execution = api.find_briefly(ns, selection.ids.front());
  if (!execution.dead) {
    throw NotFound("execution " + execution.id.to_string() + " is " + std::string(to_string(execution.status)) +
                   " and not a dead letter");
  }
}

// Drops named executions that are no dead letters: POST /v1/executions/retry retries those.
Selection only_dead(Api& api, const std::string& ns, Selection selection) {
  if (selection.query) { return selection; }
  std::set<Uuid> dead;
  for (const model::Execution& found : store::list_briefly(api.store(), ns, selection.ids)) {
    if (found.dead) { dead.insert(found.id); }
  }
  std::erase_if(selection.ids, [&dead](const Uuid& id) { return !dead.contains(id); });
  return selection;
}

http::Response retry_dead_letters(Api& api, http::Call& call) {
  const Members body(call.body(), {"ids", "filter", "all", "new_effect_key"});
  const std::string& ns = call.principal().ns;
  const Selection selection = dead_selection(body, ns);
  const Selection dead = call.blocking([&] {
    check_single(api, ns, selection);
    return only_dead(api, ns, selection);
  });
  return json_answer(retry_selected(api, call, dead, {.new_effect_key = body.flag("new_effect_key")}));
}

http::Response act_on(Api& api, http::Call& call, const Selection& selection, const char* verb,
                      const std::function<int(std::span<const Uuid>)>& act) {
  std::int64_t total = 0;
  const bool all = each_batch(call, api.store(), selection, [&](std::span<const Uuid> ids) {
    total += act(ids);
    for (const Uuid& id : ids) { api.feeds().changed(call.principal().ns, id); }
  });
  base::JsonObject object;
  object.number(verb, total);
  if (!all) { object.boolean("more", true); }
  return json_answer(object.str());
}

http::Response discard(Api& api, http::Call& call) {
  const Members body(call.body(), {"ids", "filter", "all"});
  const std::string& ns = call.principal().ns;
  const Selection selection = dead_selection(body, ns);
  call.blocking([&] { check_single(api, ns, selection); });
  return act_on(api, call, selection, "discarded",
                [&](std::span<const Uuid> ids) { return api.store().discard(ids, {actor_of(call.principal())}); });
}

http::Response annotate(Api& api, http::Call& call) {
  const Members body(call.body(), {"ids", "filter", "all", "note"});
  const std::string& ns = call.principal().ns;
  const Selection selection = dead_selection(body, ns);
  if (!body.has("note")) { throw InvalidArgument("note", "is missing; expected a text; an empty one takes it off"); }
  const std::string note = *body.text("note");
  if (note.size() > limits::note_bytes) {
    throw InvalidArgument("note", "has " + std::to_string(note.size()) + " bytes; expected at most " +
                                      std::to_string(limits::note_bytes));
  }
  const Selection dead = call.blocking([&] {
    check_single(api, ns, selection);
    return only_dead(api, ns, selection);
  });
  return act_on(api, call, dead, "annotated", [&](std::span<const Uuid> ids) {
    return api.store().annotate(ids, note, {actor_of(call.principal())});
  });
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
