#include "api/routes/api.hpp"

#include "api/routes/answers.hpp"
#include "api/routes/description.hpp"
#include "api/routes/feed.hpp"
#include "api/routes/remote_sessions.hpp"
#include "app/find.hpp"
#include "engine/sweeper.hpp"
#include "telemetry/metrics_observer.hpp"

namespace hapax::api {

namespace {

// Without tokens a client chooses the namespace, so the number of tenants is bounded.
constexpr std::size_t tenants_kept = 1000;

void tell_queues(store::Store& store, http::MetricsText& text, const std::string& namespace_name) {
  std::vector<telemetry::QueueFigures> figures;
  for (const model::QueueInfo& info : store.queues(namespace_name)) {
    figures.push_back({.namespace_name = namespace_name,
                       .queue = info.queue.name,
                       .ready = info.ready,
                       .delayed = info.delayed,
                       .parked = info.parked,
                       .running = info.running,
                       .dead = info.dead,
                       .oldest_ready = info.oldest_ready.value_or(Duration::zero()),
                       .paused = info.settings.paused});
  }
  telemetry::write_queues(text, figures);
}

}  // namespace

Api::Api(std::shared_ptr<engine::Engine> engine, http::Metrics& metrics, std::shared_ptr<Observer> observer,
         Deadlines deadlines)
    : engine_(std::move(engine)),
      deadlines_(deadlines),
      sessions_(std::make_unique<RemoteSessions>(*engine_)),
      feeds_(std::make_unique<Feeds>(*engine_)) {
  engine_->observations().observe(
      observe_with({std::make_shared<telemetry::MetricsObserver>(metrics), std::move(observer)}));
  metrics.on_look([&store = engine_->store()](http::MetricsText& text, const http::Principal& principal) {
    tell_queues(store, text, principal.namespace_name);
  });
  sessions_->set_on_change(
      [this](const model::QueueRef& queue, const Uuid& id) { feeds_->changed(queue.namespace_name, id); });
}

Api::~Api() { stop(); }

void Api::stop() {
  feeds_->stop();
  sessions_->stop();
  // The background work stops first, because it reports to the metrics.
  engine_->stop_background();
}

std::shared_ptr<Tenant> Api::tenant(const std::string& namespace_name) {
  const std::lock_guard lock(mutex_);
  const auto found = tenants_.find(namespace_name);
  if (found != tenants_.end()) { return found->second; }
  if (tenants_.size() >= tenants_kept) {
    // Tenants that no call uses are dropped, and made again when needed.
    std::erase_if(tenants_, [](const auto& each) { return each.second.use_count() == 1; });
  }
  return tenants_.emplace(namespace_name, std::make_shared<Tenant>(engine_, namespace_name)).first->second;
}

app::Operations Api::operations(const http::Call& call) {
  return {*engine_, call.principal().namespace_name, {actor_of(call.principal())}};
}

model::Execution Api::find(const std::string& namespace_name, const Uuid& id) {
  model::Execution found = app::find_execution(store(), namespace_name, id);
  if (end_if_overdue(found)) { found = app::find_execution(store(), namespace_name, id); }
  return found;
}

model::Execution Api::find_briefly(const std::string& namespace_name, const Uuid& id) {
  model::Execution found = app::find_briefly(store(), namespace_name, id);
  if (end_if_overdue(found)) { found = app::find_briefly(store(), namespace_name, id); }
  return found;
}

bool Api::end_if_overdue(const Uuid& id) { return ends_overdue() && engine::end_if_overdue(store(), id); }

bool Api::end_if_overdue(const model::Execution& execution) {
  return execution.deadline && !is_terminal(execution.status) && end_if_overdue(execution.id);
}

namespace {

// GET /openapi.json: the API's description for programs.
void add_description_route(http::Router& router) {
  router.add({.method = "GET", .pattern = "/openapi.json", .scope = http::Scope::none, .handler = [](http::Call&) {
                return json_answer(std::string(openapi_json()));
              }});
}

}  // namespace

void add_api_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  add_enqueue_routes(router, api);
  add_batch_routes(router, api);
  add_execution_routes(router, api);
  add_act_routes(router, api);
  add_workflow_routes(router, api);
  add_catalogue_routes(router, api);
  add_claim_routes(router, api);
  add_queue_routes(router, api);
  add_dead_letter_routes(router, api);
  add_activity_routes(router, api);
  add_event_routes(router, api);
  add_stream_routes(router, api);
  add_description_route(router);
}

}  // namespace hapax::api
