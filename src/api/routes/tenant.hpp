// Tenant: the API's in-memory state for one namespace. The state can be rebuilt at any time.
#pragma once

#include <hapax/app.hpp>

#include "engine/catalogue_cache.hpp"
#include "engine/engine.hpp"
#include "http/call.hpp"
#include "schedule/activities.hpp"
#include "schedule/event_router.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace hapax::api {

// Shared by the calls that use it, on any thread.
class Tenant {
 public:
  Tenant(std::shared_ptr<engine::Engine> engine, std::string namespace_name);
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  [[nodiscard]] const std::string& namespace_name() const { return namespace_name_; }
  [[nodiscard]] engine::CatalogueCache& catalogue() { return *catalogue_; }
  [[nodiscard]] schedule::Activities& activities() { return activities_; }
  // The App of this namespace, as a program would open it.
  [[nodiscard]] App app();
  // As app(), for one call and with that call's actor.
  [[nodiscard]] App app_of(std::string actor);
  // Makes the queue of questions with a short retention, unless an operator has set one. The first call blocks.
  void prepare_questions();
  // Returns the router of the namespace's events. The first call blocks.
  [[nodiscard]] schedule::EventRouter& router();

  // Returns the catalogue's entry for a task, without a store call on the event loop. The store refuses a request made
  // with an older catalogue than its own (engine::with_current_catalogue).
  [[nodiscard]] engine::CatalogueCache::Entry entry(http::Call& call, const std::string& task);

 private:
  const std::shared_ptr<engine::Engine> engine_;
  const std::string namespace_name_;
  const std::shared_ptr<engine::CatalogueCache> catalogue_;
  schedule::Activities activities_;
  std::mutex mutex_;
  bool has_questions_ = false;                     // guarded by mutex_
  std::shared_ptr<detail::AppState> app_;          // guarded by mutex_
  std::unique_ptr<schedule::EventRouter> router_;  // guarded by mutex_
};

}  // namespace hapax::api
