// Queues: GET /v1/overview, GET /v1/queues, GET and PUT /v1/queues/{queue}, pause, resume, drain, purge and move.
#include "api/execution_json.hpp"
#include "api/find.hpp"
#include "api/overview_json.hpp"
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/feed.hpp"
#include "app/config/queue_keys.hpp"
#include "app/purging.hpp"
#include "base/json_out.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/validate.hpp"

#include <algorithm>

namespace hapax::api {

namespace {

std::string show_queue(Api& api, const model::QueueRef& queue) {
  return api::queue_json(api::find_queue(api.store(), queue));
}

http::Response list_queues(Api& api, http::Call& call) {
  check_query(call.request(), {});
  return json_answer(call.blocking([&] {
    std::vector<std::string> items;
    for (const model::QueueInfo& info : api.store().queues(call.principal().ns)) {
      items.push_back(api::queue_json(info));
    }
    return base::JsonObject().raw("queues", base::json_array(items)).str();
  }));
}

http::Response show_queues(Api& api, http::Call& call) {
  check_query(call.request(), {});
  const model::QueueRef queue = path_queue(call);
  return json_answer(call.blocking([&] { return show_queue(api, queue); }));
}

// The data of `hapax top`.
http::Response overview(Api& api, http::Call& call) {
  check_query(call.request(), {});
  return json_answer(
      call.blocking([&] { return api::overview_json(api::take_overview(api.store(), call.principal().ns)); }));
}

// PUT makes a missing queue, and so do calls with "create"; for all others an unknown name is a typing error.
enum class Absent : std::uint8_t { refuse, make };

http::Response configure(Api& api, http::Call& call, model::QueuePatch patch, Absent absent) {
  const model::QueueRef queue = path_queue(call);
  patch.actor = actor_of(call.principal());
  http::Response answer = json_answer(call.blocking([&] {
    if (absent == Absent::refuse) { (void)api::find_queue(api.store(), queue); }
    api.store().configure_queue(queue, patch);
    api.engine().wake_workers({&queue, 1});
    return show_queue(api, queue);
  }));
  api.feeds().queues_changed(queue.ns);
  return answer;
}

// A value sets a setting, null removes it, and a setting that is not named stays as it is.
http::Response put_queues(Api& api, http::Call& call) {
  const std::string& body = call.body();
  (void)Members(body, {"retention", "failed_retention", "dedup_window", "rate_limit", "key_rate_limit", "concurrency",
                       "worker_concurrency", "key_concurrency", "paused"});
  model::QueuePatch patch;
  if (!body.empty()) {
    for (const base::JsonMember& member : base::json_members(body, "body")) {
      const config::QueueKey& key = *config::find_queue_key(member.name);
      if (member.value == "null") {
        key.take_away(patch);
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
  return configure(api, call, std::move(patch), Absent::make);
}

// An act that was interrupted reports that there is more to do.
std::string with_more(base::JsonObject& object, bool more) {
  if (more) { object.boolean("more", true); }
  return object.str();
}

http::Response purge(Api& api, http::Call& call) {
  (void)Members(call.body(), {});
  const model::QueueRef queue = path_queue(call);
  call.blocking([&] { (void)api::find_queue(api.store(), queue); });
  std::int64_t purged = 0;
  std::int64_t requested = 0;
  bool more = true;
  while (more) {
    const int some =
        call.blocking([&] { return api.store().purge(queue, limits::sweep_batch, {actor_of(call.principal())}); });
    purged += some;
    more = some > 0;
    if (more && !call.goes_on()) { break; }
  }
  if (!more) {
    const app::Purged rest = call.blocking([&] {
      const app::Purged done = app::purge_queue(api.store(), queue, {actor_of(call.principal())});
      if (done.requested > 0) { api.engine().wake_workers({&queue, 1}); }
      return done;
    });
    purged += rest.cancelled;
    requested = rest.requested;
  }
  api.feeds().queues_changed(queue.ns);
  return json_answer(with_more(base::JsonObject().number("purged", purged).number("requested", requested), more));
}

http::Response move(Api& api, http::Call& call) {
  const Members body(call.body(), {"to", "limit", "create"});
  const model::QueueRef from = path_queue(call);
  const model::QueueRef to{.ns = from.ns, .name = body.require_text("to", "payments-slow")};
  model::check_name(to.name, "to");
  if (from == to) { throw InvalidArgument("to", "is the queue to move from; expected another"); }
  const std::int64_t limit = body.integer("limit").value_or(INT64_MAX);
  if (limit < 1) { throw InvalidArgument("limit", std::to_string(limit) + " is out of range; expected 1 or more"); }
  call.blocking([&] {
    (void)api::find_queue(api.store(), from);
    if (!body.flag("create")) { (void)api::find_queue(api.store(), to); }
  });
  std::int64_t moved = 0;
  bool more = true;
  while (more) {
    const int batch = static_cast<int>(std::min<std::int64_t>(limits::sweep_batch, limit - moved));
    const int some = call.blocking([&] {
      const int done = api.store().move(from, to, batch, {actor_of(call.principal())});
      api.engine().wake_workers({&to, 1});
      return done;
    });
    moved += some;
    more = some > 0 && moved < limit;
    if (more && !call.goes_on()) { break; }
  }
  api.feeds().queues_changed(from.ns);
  return json_answer(with_more(base::JsonObject().number("moved", moved), more));
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
      const Members body(call.body(), {"create"});
      return configure(*api, call, with, body.flag("create") ? Absent::make : Absent::refuse);
    });
  };
  read("/v1/overview", overview);
  read("/v1/queues", list_queues);
  read("/v1/queues/{queue}", show_queues);
  change("PUT", "/v1/queues/{queue}", [api](http::Call& call) { return put_queues(*api, call); });
  stop("/v1/queues/{queue}/pause", {.paused = true});
  stop("/v1/queues/{queue}/drain", {.draining = true});
  change("POST", "/v1/queues/{queue}/resume", [api](http::Call& call) {
    (void)Members(call.body(), {});
    return configure(*api, call, {.paused = false, .draining = false}, Absent::refuse);
  });
  change("POST", "/v1/queues/{queue}/purge", [api](http::Call& call) { return purge(*api, call); });
  change("POST", "/v1/queues/{queue}/move", [api](http::Call& call) { return move(*api, call); });
}

}  // namespace hapax::api
