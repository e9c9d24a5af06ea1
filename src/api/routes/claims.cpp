// The worker protocol: POST /v1/claims, /v1/claims/open, /v1/claims/extend and /v1/claims/close; claim_outcomes.cpp has
// /v1/claims/finish.
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/claim_body.hpp"
#include "api/routes/remote_sessions.hpp"
#include "api/routes/waiting.hpp"
#include "base/json_out.hpp"
#include "engine/step_thread.hpp"
#include "model/effect_key.hpp"

#include <algorithm>
#include <limits>

namespace hapax::api {

namespace {

std::string claim_json(const model::Claim& claim) {
  base::JsonObject object;
  object.text("id", claim.id.to_string()).text("task", claim.task).text("queue", claim.queue.name);
  object.text("namespace", claim.queue.namespace_name);
  object.raw("input", claim.input.empty() ? "null" : claim.input);
  object.number("attempt", std::int64_t{claim.attempt}).number("fence", claim.fence);
  object.text("effect_key", model::effect_key(claim)).time("deadline", claim.deadline);
  // The time that is left, for workers whose clock differs.
  object.duration("deadline_in",
                  claim.deadline_in ? std::optional(std::max(*claim.deadline_in, Duration::zero())) : std::nullopt);
  object.number("lost", std::int64_t{claim.lost}).number("max_lost", std::int64_t{claim.max_lost});
  object.number("max_attempts", std::int64_t{claim.max_attempts}).number("run", std::int64_t{claim.run});
  object.duration("timeout", claim.attempt_timeout).time("created_at", claim.created_at);
  object.raw("tags", base::json_text_array(claim.labels.tags));
  object.raw("metadata", claim.labels.metadata.empty() ? "null" : claim.labels.metadata);
  object.text_or_null("traceparent", claim.labels.traceparent);
  return object.text_or_null("tracestate", claim.labels.tracestate).str();
}

std::string ids_json(const std::vector<Uuid>& ids) {
  std::vector<std::string> texts;
  for (const Uuid& id : ids) { texts.push_back(id.to_string()); }
  return base::json_text_array(texts);
}

std::string claims_json(const ClaimOrder& order, const std::vector<model::Claim>& claims,
                        const std::vector<Uuid>& lost) {
  std::vector<std::string> items;
  for (const model::Claim& claim : claims) { items.push_back(claim_json(claim)); }
  base::JsonObject object;
  object.text("session", order.session.to_string()).duration("lease", order.lease);
  object.raw("claims", base::json_array(items));
  if (!lost.empty()) { object.raw("lost", ids_json(lost)); }
  return object.str();
}

// If the client has left before the answer is sent, its claims are released at once rather than when the lease expires.
http::Response claims_answer(Api& api, http::Call& call, const ClaimOrder& order, std::vector<model::Claim> claims,
                             const std::vector<Uuid>& lost) {
  http::Response response = json_answer(claims_json(order, claims, lost));
  if (claims.empty()) { return response; }
  for (model::Claim& claim : claims) { claim.input.clear(); }
  response.on_unsent = [&api, &call, order, claims = std::move(claims)] {
    call.blocking([&] { api.sessions().take_back(order, claims); });
  };
  return response;
}

// When a claim request lists all that its session holds, it is the session's only request under way. Releases the
// session's other claims, whose answers never arrived, before new claims are made. Returns the executions that the
// session has lost.
std::vector<Uuid> settle(Api& api, http::Call& call, const ClaimOrder& order, const base::JsonView& body) {
  if (!body.has("held") || order.is_new) { return {}; }
  model::Beat beat;
  beat.session = order.session;
  beat.lease = order.lease;
  read_held(beat, body);
  beat.settled_claim_number = std::numeric_limits<std::int64_t>::max();
  return call.blocking([&] { return api.sessions().extend(beat); }).lost;
}

// Bounds the bytes of an answer also when inputs were enqueued under a larger payload limit. Removes and returns the
// claims beyond the bound; the first claim always stays.
std::vector<model::Claim> take_beyond(std::vector<model::Claim>& claims) {
  std::size_t bytes = 0;
  const auto first = std::find_if(claims.begin(), claims.end(), [&bytes](const model::Claim& claim) {
    const bool is_first = bytes == 0;
    bytes += claim.input.size() + 1;
    return !is_first && bytes > claims_bytes;
  });
  std::vector<model::Claim> beyond(std::make_move_iterator(first), std::make_move_iterator(claims.end()));
  claims.erase(first, claims.end());
  return beyond;
}

http::Response claim(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"queues", "tasks", "limit", "lease", "wait", "worker", "session", "held"});
  const ClaimOrder order = order_of(body, call);
  const Duration wait = checked_wait(body.duration("wait").value_or(Duration::zero()), "wait");
  const Time until = engine::engine_now() + wait;
  const std::vector<Uuid> lost = settle(api, call, order, body);
  // The call enters the queue of pollers before its first claim, so that no wakeup is missed in between.
  Pollers::Ticket ticket(api.sessions().shared_pollers(), order.queues);
  http::Woke woke = http::Woke::time_over;
  while (true) {
    call.recheck_access();
    RemoteSessions::Claimed claimed = call.blocking([&] { return api.sessions().claim(order); });
    if (!claimed.claims.empty()) {
      if (std::ssize(claimed.claims) == order.limit) { ticket.wake_next(); }
      if (const std::vector<model::Claim> beyond = take_beyond(claimed.claims); !beyond.empty()) {
        try {
          call.blocking([&] { api.sessions().take_back(order, beyond); });
        } catch (const StoreBusy&) {
          // The removed claims come back when their lease expires; the other claims are still delivered.
        } catch (const StoreUnavailable&) {}
      }
      return claims_answer(api, call, order, std::move(claimed.claims), lost);
    }
    // The work of the wakeup may be a task that this worker does not run, or one for a session that holds nothing.
    const bool may_be_for_another = !order.tasks.empty() || claimed.passed_over;
    if (woke == http::Woke::raised && may_be_for_another) { ticket.pass_wakeup_on(); }
    const Duration left = until - engine::engine_now();
    if (left <= Duration::zero()) { break; }
    Duration patience = std::min({left, ticket.patience(), http::Call::recheck_every});
    if (claimed.next_due) { patience = std::min(patience, std::max(*claimed.next_due, Duration(1000))); }
    woke = call.wait_on(ticket.signal(), patience);
    if (woke == http::Woke::client_gone || woke == http::Woke::draining) { break; }
  }
  return json_answer(claims_json(order, {}, lost));
}

http::Response extend(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"session", "lease", "progress", "held"});
  model::Beat beat;
  beat.session = session_of(body, call.principal().namespace_name);
  if (body.has("lease")) { beat.lease = lease_of(body); }
  read_progress(beat, body);
  read_held(beat, body);
  struct Extended {
    model::BeatReply reply;
    std::vector<Uuid> cancel;
  };
  const Extended extended = call.blocking([&] {
    Extended made{.reply = api.sessions().extend(beat), .cancel = {}};
    if (!made.reply.session_lost) { made.cancel = api.store().cancel_requests(beat.session); }
    return made;
  });
  const std::vector<Uuid>& lost = extended.reply.lost;
  base::JsonObject object;
  object.raw("cancel", ids_json(extended.cancel)).raw("lost", ids_json(lost));
  if (extended.reply.session_lost) {
    return stale_answer("session " + beat.session.to_string() + " is not there, or its lease is over",
                        object.boolean("session_lost", true).tail());
  }
  const bool all_named_lost = std::all_of(beat.held.begin(), beat.held.end(), [&](const model::Held& held) {
    return std::find(lost.begin(), lost.end(), held.id) != lost.end();
  });
  if (!beat.held.empty() && all_named_lost) {
    return stale_answer("none of these executions is leased to this session under that fence any more", object.tail());
  }
  return json_answer(object.str());
}

// Opens or renews a session without a claim, so that a worker learns before there is work that the server accepts it.
http::Response open(Api& api, http::Call& call) {
  const ClaimOrder order =
      order_of(base::JsonView(call.body(), {"queues", "tasks", "lease", "worker", "session"}), call);
  call.blocking([&] { api.sessions().open(order); });
  return json_answer(
      base::JsonObject().text("session", order.session.to_string()).duration("lease", order.lease).str());
}

// Releases what the session holds, without spending an attempt, and removes the session.
http::Response close(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"session"});
  const Uuid session = session_of(body, call.principal().namespace_name);
  call.blocking([&] { api.sessions().close(session); });
  return json_answer(base::JsonObject().text("closed", session.to_string()).str());
}

}  // namespace

void add_claim_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  const auto add = [&](const char* pattern, http::Response (*answer)(Api&, http::Call&)) {
    router.add({.method = "POST",
                .pattern = pattern,
                .scope = http::Scope::work,
                .body = http::BodyRule::json,
                .handler = [api, answer](http::Call& call) { return answer(*api, call); }});
  };
  add("/v1/claims", claim);
  add_finish_route(router, api);
  add("/v1/claims/extend", extend);
  add("/v1/claims/open", open);
  add("/v1/claims/close", close);
}

}  // namespace hapax::api
