// Activities: PUT, GET, DELETE /v1/activities/{activity}, pause, resume, trigger, backfill, preview, runs.
#include "schedule/activities.hpp"

#include "api/activity_json.hpp"
#include "api/instant.hpp"
#include "api/parse_values.hpp"
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/cursor.hpp"
#include "api/routes/listing.hpp"
#include "app/find.hpp"
#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/identity.hpp"
#include "model/validate.hpp"

#include <algorithm>

namespace hapax::api {

namespace {

constexpr int usual_fires = 10;
constexpr int usual_page = 50;
// The ticks that one backfill call handles before it answers with the instant to continue from.
constexpr std::int64_t backfilled_ticks = 10'000;
constexpr std::string_view all_activities = "activities";

const std::string& path_activity(const http::Call& call) {
  const std::string& id = call.parameter("activity");
  schedule::check_activity_id(id, "activity");
  return id;
}

// The definition, with the path's ID inserted.
std::string definition_of(http::Call& call) {
  const std::string& body = call.body();
  const std::string& id = call.parameter("activity");
  if (body.empty()) { throw InvalidArgument("body", "is empty; expected an activity's definition"); }
  base::check_json(body, "body");
  const std::vector<base::JsonMember> members = base::checked_members(body, "body");
  for (const base::JsonMember& member : members) {
    if (member.name != "id") { continue; }
    if (member.text() != id) {
      throw InvalidArgument(
          "id", base::quoted(member.text()) + ", but the path says " + base::quoted(id) + "; expected the same");
    }
    return body;
  }
  const std::size_t brace = body.find('{');
  return "{\"id\":" + base::json_text(id) + (members.empty() ? "" : ",") + body.substr(brace + 1);
}

http::Response put(Api& api, http::Call& call) {
  schedule::check_activity_id(call.parameter("activity"), "id");
  const schedule::Activity activity = schedule::parse_activity(definition_of(call));
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  return call.blocking([&] {
    const schedule::Activities::Applied applied = tenant->activities().apply(activity, actor_of(call.principal()));
    const char* const result = applied.created ? "created" : applied.changed ? "changed" : "unchanged";
    base::JsonObject object = api::activity_json(applied.state);
    return json_answer(object.text("result", result).str(), applied.created ? 201 : 200);
  });
}

http::Response list(Api& api, http::Call& call) {
  check_query(call.request(), {"limit", "cursor", "after"});
  model::ActivityQuery query;
  query.limit = query_number(call.request(), "limit", usual_page, limits::list_page);
  query.after = call.request().parameter("after");
  if (query.after && call.request().parameter("cursor")) {
    throw InvalidArgument("after", "given beside cursor; expected one of them");
  }
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  if (const auto cursor = call.request().parameter("cursor")) {
    query.after = parse_name_cursor(*cursor, {.namespace_name = tenant->namespace_name(), .list = all_activities});
  }
  return json_answer(call.blocking([&] {
    const std::vector<model::ActivityState> found = tenant->activities().list(query);
    std::vector<std::string> items;
    for (const model::ActivityState& state : found) { items.push_back(api::activity_json(state).str()); }
    base::JsonObject object;
    object.raw("activities", base::json_array(items));
    const bool is_full = std::ssize(found) == query.limit;
    const CursorPlace place{.namespace_name = tenant->namespace_name(), .list = all_activities};
    return object.text_or_null("next", is_full ? make_name_cursor(found.back().id, place) : "").str();
  }));
}

http::Response show(Api& api, http::Call& call) {
  check_query(call.request(), {"versions"});
  const bool with_versions = query_flag(call.request(), "versions", false);
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  const std::string& id = path_activity(call);
  return json_answer(call.blocking([&] {
    const model::ActivityState state = app::find_activity(tenant->activities(), id);
    std::vector<model::ActivityVersion> versions;
    if (with_versions) { versions = tenant->activities().versions(id); }
    return api::shown_activity_json(state, api.store().now(), with_versions ? &versions : nullptr);
  }));
}

http::Response remove(Api& api, http::Call& call) {
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  const std::string& id = path_activity(call);
  return json_answer(call.blocking([&] {
    (void)app::find_activity(tenant->activities(), id);
    tenant->activities().remove(id, actor_of(call.principal()));
    return base::JsonObject().text("deleted", id).str();
  }));
}

http::Response pause(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"note"});
  const std::string note = body.text("note");
  if (note.size() > limits::note_bytes) {
    throw InvalidArgument("note", "has " + std::to_string(note.size()) + " bytes; expected at most " +
                                      std::to_string(limits::note_bytes));
  }
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  return json_answer(call.blocking([&] {
    (void)app::find_activity(tenant->activities(), path_activity(call));
    return api::activity_json(tenant->activities().pause(path_activity(call), note, actor_of(call.principal()))).str();
  }));
}

http::Response resume(Api& api, http::Call& call) {
  (void)base::JsonView(call.body(), {});
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  return json_answer(call.blocking([&] {
    (void)app::find_activity(tenant->activities(), path_activity(call));
    return api::activity_json(tenant->activities().resume(path_activity(call), actor_of(call.principal()))).str();
  }));
}

http::Response trigger(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"key", "event"});
  schedule::Activities::Manual manual{.key = body.find_text("key"), .event = {}};
  if (manual.key) { model::check_key(*manual.key, "key"); }
  if (body.has("event")) { manual.event = schedule::parse_event(body.raw("event")); }
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  const std::string& id = path_activity(call);
  const schedule::Activities::Started started = call.blocking([&] {
    (void)app::find_activity(tenant->activities(), id);
    return tenant->activities().trigger(id, manual, actor_of(call.principal()));
  });
  if (started.admission.verdict == model::AdmissionVerdict::queue_draining) {
    throw QueueDraining("the queue of activity '" + id + "' is draining and takes nothing new");
  }
  return json_answer(api::started_json(started, std::nullopt), started.admission.created() ? 201 : 200);
}

http::Response backfill(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"from", "to"});
  const std::string from = body.require_text("from", "2026-03-01");
  const std::string to = body.require_text("to", "2026-03-07");
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  const std::string& id = path_activity(call);
  schedule::TickRange range = call.blocking([&] {
    const std::optional<schedule::Activity> activity = api::readable(app::find_activity(tenant->activities(), id));
    api::InstantRules rules{.zone = {}, .now = api.store().now()};
    if (activity && activity->cron() != nullptr) { rules.zone = activity->cron()->timetable.zone(); }
    schedule::TickRange asked{.from = api::parse_instant(from, rules, "from"), .to = {}};
    rules.edge = api::DayEdge::end;
    asked.to = api::parse_instant(to, rules, "to");
    return asked;
  });
  const schedule::TickRange whole = range;
  // Runs one batch at a time and checks the caller in between, up to a number of ticks for which the answer still comes
  // soon.
  schedule::Activities::Backfill report;
  const auto one_batch = [](const schedule::Activities::Backfill&, std::int64_t) { return false; };
  do {
    const schedule::Activities::Backfill some =
        call.blocking([&] { return tenant->activities().backfill(id, range, actor_of(call.principal()), one_batch); });
    report.ticks += some.ticks;
    report.started += some.started;
    report.existing += some.existing;
    report.refused += some.refused;
    if (!some.trouble.empty()) { report.trouble = some.trouble; }
    report.next_from = some.next_from;
    if (report.next_from) { range.from = *report.next_from; }
  } while (report.next_from && report.ticks < backfilled_ticks && call.may_continue());
  return json_answer(api::backfill_json(report, whole));
}

http::Response preview(Api& api, http::Call& call) {
  check_query(call.request(), {"from", "count", "down"});
  const int count = query_number(call.request(), "count", usual_fires, limits::preview_fires);
  const std::string from = call.request().parameter("from").value_or("now");
  const std::optional<Duration> down = api::optional_duration(call.request().parameter("down"), "down");
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  const std::string& id = path_activity(call);
  return json_answer(call.blocking([&] {
    const schedule::Activity activity =
        schedule::parse_stored_activity(app::find_activity(tenant->activities(), id).definition);
    if (activity.cron() == nullptr) {
      throw InvalidArgument("activity", "'" + id + "' has an event trigger, and so no ticks to tell ahead");
    }
    const Time begin =
        api::parse_instant(from, {.zone = activity.cron()->timetable.zone(), .now = api.store().now()}, "from");
    const auto fires = schedule::preview_fires(*activity.cron(), id, begin, count);
    std::optional<api::PreviewedOutage> outage;
    if (down) {
      const schedule::Outage what{.from = begin, .length = *down};
      outage = {.outage = what, .policies = schedule::preview_outage(*activity.cron(), id, what)};
    }
    return api::preview_json({.activity = activity, .from = begin, .fires = fires, .outage = outage});
  }));
}

// Also lists the runs of a deleted activity, as long as they are kept.
http::Response runs(Api& api, http::Call& call) {
  check_query(call.request(), {"limit", "cursor", "status"});
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  const std::string& id = path_activity(call);
  model::ListQuery query;
  query.namespace_name = tenant->namespace_name();
  query.parent = model::activity_uuid(tenant->namespace_name(), id);
  query.payloads = false;
  query.limit = query_number(call.request(), "limit", usual_page, limits::list_page);
  const std::string status = call.request().parameter("status").value_or("");
  if (!status.empty()) { query.statuses = {api::require_status(status)}; }
  const std::string list = "runs of " + id + "\n" + status;
  if (const auto cursor = call.request().parameter("cursor")) {
    query.after = parse_cursor(*cursor, {.namespace_name = tenant->namespace_name(), .list = list});
  }
  return json_answer(call.blocking([&] {
    if (tenant->activities().versions(id).empty()) { (void)app::find_activity(tenant->activities(), id); }
    const std::vector<model::Execution> found = api.store().list(query);
    std::vector<std::string> items;
    for (const model::Execution& run : found) { items.push_back(api::activity_run_json(run)); }
    base::JsonObject object;
    object.raw("runs", base::json_array(items));
    const bool is_full = std::ssize(found) == query.limit;
    return object
        .text_or_null(
            "next",
            is_full ? make_cursor(found.back().id, {.namespace_name = tenant->namespace_name(), .list = list}) : "")
        .str();
  }));
}

}  // namespace

void add_activity_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  const auto add = [&](const char* method, const std::string& rest, http::Scope scope,
                       http::Response (*answer)(Api&, http::Call&)) {
    const bool has_body = std::string_view(method) == "POST" || std::string_view(method) == "PUT";
    router.add({.method = method,
                .pattern = "/v1/activities" + rest,
                .scope = scope,
                .body = has_body ? http::BodyRule::json : http::BodyRule::none,
                .handler = [api, answer](http::Call& call) { return answer(*api, call); }});
  };
  add("GET", "", http::Scope::read, list);
  add("PUT", "/{activity}", http::Scope::admin, put);
  add("GET", "/{activity}", http::Scope::read, show);
  add("DELETE", "/{activity}", http::Scope::admin, remove);
  add("POST", "/{activity}/pause", http::Scope::admin, pause);
  add("POST", "/{activity}/resume", http::Scope::admin, resume);
  add("POST", "/{activity}/trigger", http::Scope::admin, trigger);
  add("POST", "/{activity}/backfill", http::Scope::admin, backfill);
  add("GET", "/{activity}/preview", http::Scope::read, preview);
  add("GET", "/{activity}/runs", http::Scope::read, runs);
}

}  // namespace hapax::api
