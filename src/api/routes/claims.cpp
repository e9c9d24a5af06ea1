// The worker protocol: POST /v1/claims, /v1/claims/open, /v1/claims/finish, /v1/claims/extend and /v1/claims/close.
#include "api/parse_values.hpp"
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/remote_sessions.hpp"
#include "api/routes/session_id.hpp"
#include "api/routes/waiting.hpp"
#include "base/json.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"
#include "engine/step_thread.hpp"
#include "model/effect_key.hpp"
#include "model/validate.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace hapax::api {

namespace {

constexpr int claims_most = 100;
constexpr std::size_t outcomes_bytes = 16 << 20;
static_assert(outcomes_bytes >= 2 * limits::payload_most, "the largest result must find room, escapes included");
constexpr Duration usual_lease = std::chrono::seconds(30);
// A claim that the worker does not list as held after this long was in a lost answer.
constexpr Duration answer_grace = std::chrono::seconds(10);

// The most bytes of inputs in one answer: 100 of the usual largest size.
constexpr std::size_t claims_bytes = claims_most * limits::payload_usual;

int claims_at_once() {
  const std::size_t fit = claims_bytes / base::payload_limit();
  return static_cast<int>(std::clamp<std::size_t>(fit, 1, claims_most));
}

Duration lease_of(const Members& body) {
  const Duration lease = body.duration("lease").value_or(usual_lease);
  if (lease < limits::lease_min || lease > limits::lease_max) {
    throw InvalidArgument("lease", format_duration(lease) + " is out of range; expected " +
                                       format_duration(limits::lease_min) + " to " +
                                       format_duration(limits::lease_max));
  }
  return lease;
}

Uuid session_of(const Members& body, const std::string& ns) {
  const std::string text = body.require_text("session", "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f");
  const std::optional<Uuid> id = Uuid::parse(text);
  if (!id) {
    throw InvalidArgument("session", base::quoted(text) + " is none; expected what POST /v1/claims answered");
  }
  if (!is_session_of(ns, *id)) { throw StaleLease("session " + text + " is not there, or its lease is over"); }
  return *id;
}

ClaimOrder order_of(const Members& body, const http::Call& call) {
  ClaimOrder order;
  const std::string& ns = call.principal().ns;
  const std::vector<std::string> names = body.texts("queues");
  for (const std::string& name : names) {
    model::check_name(name, "queues");
    const model::QueueRef queue{.ns = ns, .name = name};
    if (std::find(order.queues.begin(), order.queues.end(), queue) == order.queues.end()) {
      order.queues.push_back(queue);
    }
    // The search is bounded: `order.queues` never exceeds the limit by more than one.
    if (order.queues.size() > static_cast<std::size_t>(limits::queues_per_claim)) { break; }
  }
  if (order.queues.empty() || order.queues.size() > static_cast<std::size_t>(limits::queues_per_claim)) {
    throw InvalidArgument("queues", "has " + std::to_string(names.size()) + " names; expected 1 to " +
                                        std::to_string(limits::queues_per_claim) + ", such as [\"emails\"]");
  }
  order.tasks = body.texts("tasks");
  if (order.tasks.size() > static_cast<std::size_t>(limits::tasks_per_claim)) {
    throw InvalidArgument("tasks", "has " + std::to_string(order.tasks.size()) + " names; expected at most " +
                                       std::to_string(limits::tasks_per_claim));
  }
  for (const std::string& name : order.tasks) { model::check_name(name, "tasks"); }
  order.limit = std::min(api::within(body.integer("limit").value_or(1), {1, claims_most}, "limit"), claims_at_once());
  order.lease = lease_of(body);
  // A token's name may be longer than a worker's label.
  order.worker = body.text("worker").value_or(std::string(base::keep_head(call.principal().name, limits::name_bytes)));
  model::check_name(order.worker, "worker");
  order.peer = call.request().peer;
  order.is_new = !body.has("session");
  order.session = order.is_new ? new_session_id(ns) : session_of(body, ns);
  return order;
}

std::string claim_json(const model::Claim& claim) {
  base::JsonObject object;
  object.text("id", claim.id.to_string()).text("task", claim.task).text("queue", claim.queue.name);
  object.text("namespace", claim.queue.ns);
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
  return object.text_or_null("traceparent", claim.labels.traceparent).str();
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

void read_held(model::Beat& beat, const Members& body);

// A claim request that lists all that its session holds is the session's only request under way. Any other claim of the
// session was in an answer that never arrived, and is released before new claims are made. Returns the executions that
// the session has lost.
std::vector<Uuid> settle(Api& api, http::Call& call, const ClaimOrder& order, const Members& body) {
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
  const Members body(call.body(), {"queues", "tasks", "limit", "lease", "wait", "worker", "session", "held"});
  const ClaimOrder order = order_of(body, call);
  const Duration wait = checked_wait(body.duration("wait").value_or(Duration::zero()), "wait");
  const Time until = engine::engine_now() + wait;
  const std::vector<Uuid> lost = settle(api, call, order, body);
  // Entered before the first look, so that no wakeup is missed in between.
  Pollers::Ticket ticket(api.sessions().shared_pollers(), order.queues);
  http::Woke woke = http::Woke::time_over;
  while (true) {
    call.check_still_let_in();
    RemoteSessions::Claimed claimed = call.blocking([&] { return api.sessions().claim(order); });
    if (!claimed.claims.empty()) {
      if (std::ssize(claimed.claims) == order.limit) { ticket.pass_on(); }
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
    if (woke == http::Woke::raised && may_be_for_another) { ticket.pass_back(); }
    const Duration left = until - engine::engine_now();
    if (left <= Duration::zero()) { break; }
    Duration patience = std::min({left, ticket.patience(), http::Call::recheck_every});
    if (claimed.next_due) { patience = std::min(patience, std::max(*claimed.next_due, Duration(1000))); }
    woke = call.wait_on(ticket.signal(), patience);
    if (woke == http::Woke::client_gone || woke == http::Woke::draining) { break; }
  }
  return json_answer(claims_json(order, {}, lost));
}

// ---- Finish -----------------------------------------------------------------------------------------------------------

[[noreturn]] void refuse(const std::string& place, const std::string& field, const std::string& message) {
  throw InvalidArgument(place + "." + field, message);
}

ReportedOutcome::Status status_of(const std::string& word, const std::string& place) {
  using Status = ReportedOutcome::Status;
  if (word == "completed") return Status::completed;
  if (word == "failed") return Status::failed;
  if (word == "snoozed") return Status::snoozed;
  if (word == "released") return Status::released;
  if (word == "cancelled") return Status::cancelled;
  refuse(place, "status", base::quoted(word) + " is none; expected completed, failed, snoozed, released or cancelled");
}

Uuid item_id(const Members& item, const std::string& place) {
  const std::string text = item.text("id").value_or("");
  const std::optional<Uuid> id = Uuid::parse(text);
  if (!id) { refuse(place, "id", base::quoted(text) + " is none; expected the claim's id"); }
  return *id;
}

std::int64_t item_fence(const Members& item, const std::string& place) {
  const std::optional<std::int64_t> fence = item.integer("fence");
  if (!fence) { refuse(place, "fence", "is missing; expected the claim's fence"); }
  return *fence;
}

// Depth at which an outcome's result stands in the body: the object, its array, an item.
constexpr std::size_t outcome_levels = 3;

ReportedOutcome outcome_of(std::string_view json, const std::string& place) {
  const Members item(json, {"id", "fence", "status", "result", "error", "retry_after", "permanent"}, place, 1);
  ReportedOutcome outcome;
  outcome.id = item_id(item, place);
  outcome.fence = item_fence(item, place);
  outcome.status = status_of(item.text("status").value_or(""), place);
  if (const auto result = item.json("result")) {
    if (result->size() > base::payload_limit()) {
      throw PayloadTooLarge(place + ".result", result->size(), base::payload_limit());
    }
    base::check_json(*result, place + ".result");
    outcome.result = *result;
  }
  if (const auto given = item.json("error")) {
    const Members error(*given, {"type", "message", "detail"}, place + ".error");
    outcome.error = {error.text("type").value_or("Error"), error.text("message").value_or(""),
                     error.text("detail").value_or("")};
    outcome.has_error = true;
  } else if (outcome.status == ReportedOutcome::Status::failed) {
    outcome.error = {"Error", "the worker reported a failure without an error", ""};
  }
  outcome.retry_after = item.duration("retry_after");
  outcome.permanent = item.flag("permanent");
  if (outcome.status == ReportedOutcome::Status::snoozed && !outcome.retry_after) {
    refuse(place, "retry_after", "is missing; a snoozed execution says when it is to run again, such as \"5s\"");
  }
  return outcome;
}

std::vector<ReportedOutcome> outcomes_of(const Members& body) {
  const std::vector<std::string_view> items = body.items("outcomes");
  if (items.empty() || items.size() > static_cast<std::size_t>(limits::finish_batch)) {
    throw InvalidArgument("outcomes", "has " + std::to_string(items.size()) + " items; expected 1 to " +
                                          std::to_string(limits::finish_batch));
  }
  std::vector<ReportedOutcome> outcomes;
  std::set<Uuid> ids;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string place = "outcomes[" + std::to_string(i) + "]";
    outcomes.push_back(outcome_of(items[i], place));
    if (!ids.insert(outcomes.back().id).second) { refuse(place, "id", "is there twice; expected each once"); }
  }
  return outcomes;
}

using Verdict = model::FinishVerdict;

// Recorded in one batch with the outcomes that other workers report at the same time.
std::vector<Verdict> record(Api& api, http::Call& call, std::vector<RemoteSessions::Prepared> prepared) {
  struct Gathered {
    std::mutex mutex;
    std::vector<Verdict> verdicts;
    std::exception_ptr error;
    std::size_t left = 0;
  };
  const auto gathered = std::make_shared<Gathered>();
  gathered->verdicts.resize(prepared.size());
  gathered->left = prepared.size();
  return call.await<std::vector<Verdict>>([&](auto done) {
    for (std::size_t i = 0; i < prepared.size(); ++i) {
      api.sessions().finish_async(std::move(prepared[i]),
                                  [gathered, done, i](Verdict verdict, std::exception_ptr error) {
                                    {
                                      const std::lock_guard lock(gathered->mutex);
                                      gathered->verdicts[i] = verdict;
                                      if (error) { gathered->error = std::move(error); }
                                      if (--gathered->left > 0) { return; }
                                    }
                                    done(gathered->verdicts, gathered->error);
                                  });
    }
  });
}

std::string verdicts_json(const std::vector<Uuid>& ids, const std::vector<Verdict>& verdicts) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    base::JsonObject item;
    item.text("id", ids[i].to_string());
    items.push_back(item.text("verdict", verdicts[i] == Verdict::accepted ? "accepted" : "stale").str());
  }
  return base::json_array(items);
}

http::Response stale_answer(const std::string& message, const std::string& facts) {
  http::Problem problem = http::problem_of(StaleLease(message));
  problem.facts = facts;
  return problem_answer_of(problem);
}

http::Response finish(Api& api, http::Call& call) {
  const Members body(call.body(), {"outcomes", "session"}, "body", outcome_levels);
  std::vector<ReportedOutcome> outcomes = outcomes_of(body);
  const std::string& ns = call.principal().ns;
  std::vector<Uuid> ids;
  for (const ReportedOutcome& outcome : outcomes) { ids.push_back(outcome.id); }
  std::vector<std::optional<RemoteSessions::Prepared>> made;
  const auto prepare = [&] {
    for (ReportedOutcome& outcome : outcomes) { made.push_back(api.sessions().prepare(ns, std::move(outcome))); }
  };
  const bool all_known = std::all_of(outcomes.begin(), outcomes.end(), [&](const ReportedOutcome& outcome) {
    return api.sessions().is_known(ns, outcome);
  });
  if (all_known) {
    prepare();
  } else {
    call.blocking(prepare);
  }
  std::vector<RemoteSessions::Prepared> prepared;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i]) { continue; }
    prepared.push_back(std::move(*made[i]));
    places.push_back(i);
  }
  std::vector<Verdict> verdicts(ids.size(), Verdict::stale);
  if (!prepared.empty()) {
    const std::vector<Verdict> answered = record(api, call, std::move(prepared));
    for (std::size_t i = 0; i < places.size(); ++i) { verdicts[places[i]] = answered[i]; }
  }
  const std::string told = verdicts_json(ids, verdicts);
  if (std::find(verdicts.begin(), verdicts.end(), Verdict::accepted) == verdicts.end()) {
    return stale_answer("none of these executions is leased to you under that fence any more; nothing was changed",
                        base::JsonObject().raw("verdicts", told).tail());
  }
  return json_answer(base::JsonObject().raw("verdicts", told).str());
}

// ---- Extend -----------------------------------------------------------------------------------------------------------

void add_held(model::Beat& beat, const model::Held& held) {
  const bool is_there =
      std::any_of(beat.held.begin(), beat.held.end(), [&](const model::Held& each) { return each.id == held.id; });
  if (!is_there) { beat.held.push_back(held); }
}

void read_progress(model::Beat& beat, const Members& body) {
  const std::vector<std::string_view> items = body.items("progress");
  if (items.size() > static_cast<std::size_t>(limits::finish_batch)) {
    throw InvalidArgument("progress", "has " + std::to_string(items.size()) + " items; expected at most " +
                                          std::to_string(limits::finish_batch));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string place = "progress[" + std::to_string(i) + "]";
    const Members item(items[i], {"id", "fence", "fraction", "message"}, place);
    const model::Held held{item_id(item, place), item_fence(item, place)};
    add_held(beat, held);
    const std::optional<double> fraction = item.number("fraction");
    if (fraction && (*fraction < 0 || *fraction > 1)) {
      refuse(place, "fraction", base::echo(*item.json("fraction")) + " is out of range; expected 0 to 1");
    }
    const std::string message = item.text("message").value_or("");
    if (fraction || !message.empty()) { beat.progress.push_back({held.id, held.fence, fraction.value_or(0), message}); }
  }
}

// When a worker lists all that it holds, its other claims are released: their answers never arrived.
void read_held(model::Beat& beat, const Members& body) {
  if (!body.has("held")) { return; }
  const std::vector<std::string_view> items = body.items("held");
  if (items.size() > static_cast<std::size_t>(limits::finish_batch)) {
    throw InvalidArgument("held", "has " + std::to_string(items.size()) + " items; expected at most " +
                                      std::to_string(limits::finish_batch));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string place = "held[" + std::to_string(i) + "]";
    const Members item(items[i], {"id", "fence"}, place);
    add_held(beat, {item_id(item, place), item_fence(item, place)});
  }
  const Duration now = std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch());
  beat.settled_claim_number = (now - answer_grace).count();
}

http::Response extend(Api& api, http::Call& call) {
  const Members body(call.body(), {"session", "lease", "progress", "held"});
  model::Beat beat;
  beat.session = session_of(body, call.principal().ns);
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

// ---- Open and close --------------------------------------------------------------------------------------------------

// Opens or renews a session without a claim: a worker learns that it is accepted before there is work.
http::Response open(Api& api, http::Call& call) {
  const ClaimOrder order = order_of(Members(call.body(), {"queues", "tasks", "lease", "worker", "session"}), call);
  call.blocking([&] { api.sessions().open(order); });
  return json_answer(
      base::JsonObject().text("session", order.session.to_string()).duration("lease", order.lease).str());
}

// Releases what the session holds, without spending an attempt, and removes the session.
http::Response close(Api& api, http::Call& call) {
  const Members body(call.body(), {"session"});
  const Uuid session = session_of(body, call.principal().ns);
  call.blocking([&] { api.sessions().close(session); });
  return json_answer(base::JsonObject().text("closed", session.to_string()).str());
}

}  // namespace

void add_claim_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  const auto add = [&](const char* pattern, std::size_t body_limit, http::Response (*answer)(Api&, http::Call&)) {
    router.add({.method = "POST",
                .pattern = pattern,
                .scope = http::Scope::work,
                .body = http::BodyRule::json,
                .handler = [api, answer](http::Call& call) { return answer(*api, call); },
                .body_limit = body_limit});
  };
  add("/v1/claims", 0, claim);
  add("/v1/claims/finish", outcomes_bytes, finish);
  add("/v1/claims/extend", 0, extend);
  add("/v1/claims/open", 0, open);
  add("/v1/claims/close", 0, close);
}

}  // namespace hapax::api
