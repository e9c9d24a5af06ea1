#include "api/routes/tenant.hpp"

#include "app/app_state.hpp"
#include "model/question.hpp"
#include "model/retention.hpp"

#include <algorithm>

namespace hapax::api {

Tenant::Tenant(std::shared_ptr<engine::Engine> engine, std::string namespace_name)
    : engine_(std::move(engine)),
      namespace_name_(std::move(namespace_name)),
      catalogue_(engine_->catalogue(namespace_name_)),
      activities_(*engine_, namespace_name_) {}

App Tenant::app() {
  const std::lock_guard lock(mutex_);
  if (!app_) { app_ = std::make_shared<detail::AppState>(engine_, namespace_name_); }
  return App(app_);
}

App Tenant::app_of(std::string actor) {
  return App(std::make_shared<detail::AppState>(engine_, namespace_name_, std::move(actor)));
}

void Tenant::prepare_questions() {
  const model::QueueRef queue{namespace_name_, std::string(model::question_queue)};
  {
    const std::lock_guard lock(mutex_);
    if (has_questions_) { return; }
  }
  // Settings that an operator has made stay.
  const std::vector<model::QueueInfo> queues = engine_->store().queues(namespace_name_);
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
  if (!router_) { router_ = std::make_unique<schedule::EventRouter>(*engine_, namespace_name_); }
  return *router_;
}

engine::CatalogueCache::Entry Tenant::entry(http::Call& call, const std::string& task) {
  if (std::optional<engine::CatalogueCache::Entry> known = catalogue_->find_known(task)) { return *std::move(known); }
  return call.blocking([&] { return catalogue_->find(TaskSpec{.name = task, .options = {}}); });
}

}  // namespace hapax::api
