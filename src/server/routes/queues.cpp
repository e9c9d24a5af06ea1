// Queues: GET /v1/overview, GET /v1/queues, GET and PUT /v1/queues/{queue}, pause, resume, drain, purge and move.
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "config/queue_keys.hpp"
#include "engine/purging.hpp"
#include "model/validate.hpp"
#include "server/routes/answers.hpp"
#include "server/routes/api.hpp"
#include "server/routes/feed.hpp"
#include "wire/execution_json.hpp"
#include "wire/find.hpp"
#include "wire/json_out.hpp"
#include "wire/overview_json.hpp"

#include <algorithm>

namespace hapax::server {

namespace {

std::string show_queue(Api& api, const model::QueueRef& queue) {
  return wire::queue_json(wire::find_queue(api.store(), queue));
}

Response list_queues(Api& api, Call& call) {
  check_query(call.request(), {});
  return json_answer(call.blocking([&] {
    std::vector<std::string> items;
    for (const model::QueueInfo& info : api.store().queues(call.principal().ns)) {
      items.push_back(wire::queue_json(info));
    }
    return wire::JsonObject().raw("queues", wire::json_array(items)).str();
  }));
}

Response show_queues(Api& api, Call& call) {
  check_query(call.request(), {});
  const model::QueueRef queue = path_queue(call);
  return json_answer(call.blocking([&] { return show_queue(api, queue); }));
}

// What hapax top shows.
Response overview(Api& api, Call& call) {
  check_query(call.request(), {});
  return json_answer(
      call.blocking([&] { return wire::overview_json(wire::take_overview(api.store(), call.principal().ns)); }));
}

// A queue that nobody has made is made by PUT and where the caller says so; elsewhere its name is a typing error.
enum class Absent : std::uint8_t { refuse, make };

Response configure(Api& api, Call& call, model::QueuePatch patch, Absent absent) {
  const model::QueueRef queue = path_queue(call);
  patch.actor = actor_of(call.principal());
  Response answer = json_answer(call.blocking([&] {
    if (absent == Absent::refuse) { (void)wire::find_queue(api.store(), queue); }
    api.store().configure_queue(queue, patch);
    api.engine().wake_workers({&queue, 1});
    return show_queue(api, queue);
  }));
  api.feeds().queues_changed(queue.ns);
  return answer;
}

// What is given is set, null takes a setting away, and what is not named stays as it is.
Response put_queues(Api& api, Call& call) {
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

// An act that was broken off says that there is more to do.
std::string with_more(wire::JsonObject& object, bool more) {
  if (more) { object.boolean("more", true); }
  return object.str();
}

Response purge(Api& api, Call& call) {
  (void)Members(call.body(), {});
  const model::QueueRef queue = path_queue(call);
  call.blocking([&] { (void)wire::find_queue(api.store(), queue); });
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
    const engine::Purged rest = call.blocking([&] {
      const engine::Purged done = engine::purge_queue(api.store(), queue, {actor_of(call.principal())});
      if (done.requested > 0) { api.engine().wake_workers({&queue, 1}); }
      return done;
    });
    purged += rest.cancelled;
    requested = rest.requested;
  }
  api.feeds().queues_changed(queue.ns);
  return json_answer(with_more(wire::JsonObject().number("purged", purged).number("requested", requested), more));
}

Response move(Api& api, Call& call) {
  const Members body(call.body(), {"to", "limit", "create"});
  const model::QueueRef from = path_queue(call);
  const model::QueueRef to{.ns = from.ns, .name = body.require_text("to", "payments-slow")};
  model::check_name(to.name, "to");
  if (from == to) { throw InvalidArgument("to", "is the queue to move from; expected another"); }
  const std::int64_t limit = body.integer("limit").value_or(INT64_MAX);
  if (limit < 1) { throw InvalidArgument("limit", std::to_string(limit) + " is out of range; expected 1 or more"); }
  call.blocking([&] {
    (void)wire::find_queue(api.store(), from);
    if (!body.flag("create")) { (void)wire::find_queue(api.store(), to); }
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
  return json_answer(with_more(wire::JsonObject().number("moved", moved), more));
}

}  // namespace

void add_queue_routes(Router& router, const std::shared_ptr<Api>& api) {
  const auto read = [&](const char* pattern, Response (*answer)(Api&, Call&)) {
    router.add({.method = "GET", .pattern = pattern, .scope = Scope::read, .handler = [api, answer](Call& call) {
                  return answer(*api, call);
                }});
  };
  const auto change = [&](const char* method, const char* pattern, Handler handler) {
    router.add({.method = method,
                .pattern = pattern,
                .scope = Scope::admin,
                .body = BodyRule::json,
                .handler = std::move(handler)});
  };
  const auto stop = [&](const char* pattern, const model::QueuePatch& with) {
    change("POST", pattern, [api, with](Call& call) {
      const Members body(call.body(), {"create"});
      return configure(*api, call, with, body.flag("create") ? Absent::make : Absent::refuse);
    });
  };
  read("/v1/overview", overview);
  read("/v1/queues", list_queues);
  read("/v1/queues/{queue}", show_queues);
  change("PUT", "/v1/queues/{queue}", [api](Call& call) { return put_queues(*api, call); });
  stop("/v1/queues/{queue}/pause", {.paused = true});
  stop("/v1/queues/{queue}/drain", {.draining = true});
  change("POST", "/v1/queues/{queue}/resume", [api](Call& call) {
    (void)Members(call.body(), {});
    return configure(*api, call, {.paused = false, .draining = false}, Absent::refuse);
  });
  change("POST", "/v1/queues/{queue}/purge", [api](Call& call) { return purge(*api, call); });
  change("POST", "/v1/queues/{queue}/move", [api](Call& call) { return move(*api, call); });
}

}  // namespace hapax::server
