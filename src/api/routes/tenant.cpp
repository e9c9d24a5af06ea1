#include "api/routes/tenant.hpp"

#include "app/app_state.hpp"
#include "model/question.hpp"
#include "model/retention.hpp"

#include <algorithm>

namespace hapax::api {

Tenant::Tenant(std::shared_ptr<engine::Engine> engine, std::string ns)
    : engine_(std::move(engine)), ns_(std::move(ns)), catalogue_(engine_->catalogue(ns_)), activities_(*engine_, ns_) {}

App Tenant::app() {
  const std::lock_guard lock(mutex_);
  if (!app_) { app_ = std::make_shared<detail::AppState>(engine_, ns_); }
  return App(app_);
}

App Tenant::app_of(std::string actor) {
  return App(std::make_shared<detail::AppState>(engine_, ns_, std::move(actor)));
}

void Tenant::prepare_questions() {
  const model::QueueRef queue{ns_, std::string(model::question_queue)};
  {
    const std::lock_guard lock(mutex_);
    if (has_questions_) { return; }
  }
  // Settings that an operator has made stay.
  const std::vector<model::QueueInfo> queues = engine_->store().queues(ns_);
  const auto known = std::ranges::find(queues, queue, &model::QueueInfo::queue);
  const model::QueueSettings settings = known == queues.end() ? model::QueueSettings{} : known->settings;
  model::QueuePatch patch;
  if (!settings.retention) { patch.retention = Duration::zero(); }
  if (!settings.failed_retention) { patch.failed_retention = model::stub_retention; }
  if (patch.retention || patch.failed_retention) { engine_->store().configure_queue(queue, patch); }
  const std::lock_guard lock(mutex_);
  has_questions_ = true;
}

schedule::EventRouter& Tenant::router() {
  const std::lock_guard lock(mutex_);
  if (!router_) { router_ = std::make_unique<schedule::EventRouter>(*engine_, ns_); }
  return *router_;
}

engine::CatalogueCache::Entry Tenant::entry(http::Call& call, const std::string& task) {
  if (std::optional<engine::CatalogueCache::Entry> known = catalogue_->find_known(task)) { return *std::move(known); }
  return call.blocking([&] { return catalogue_->find(TaskSpec{.name = task, .options = {}}); });
}

}  // namespace hapax::api
