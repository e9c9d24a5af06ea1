// Tenant: what the API keeps in memory of one namespace. All of it can be made again at any time.
#pragma once

#include <hapax/app.hpp>

#include "engine/catalogue_cache.hpp"
#include "engine/engine.hpp"
#include "schedule/activities.hpp"
#include "schedule/event_router.hpp"
#include "server/call.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace hapax::server {

// Shared by the calls that use it, on any thread.
class Tenant {
 public:
  Tenant(std::shared_ptr<engine::Engine> engine, std::string ns);
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  [[nodiscard]] const std::string& ns() const { return ns_; }
  [[nodiscard]] engine::CatalogueCache& catalogue() { return catalogue_; }
  [[nodiscard]] schedule::Activities& activities() { return activities_; }
  // As programs use the same store and namespace.
  [[nodiscard]] App app();
  // The same for one call, by whoever makes it.
  [[nodiscard]] App app_of(std::string actor);
  // The queue of questions is there, and does not keep for weeks what was asked. Blocks when it is first asked for.
  void prepare_questions();
  // Blocks when it is first asked for.
  [[nodiscard]] schedule::EventRouter& router();

  // What the catalogue says of a task, at most two seconds old, without a store call on the event loop. The store refuses a
  // request that was made by an older catalogue than its own (engine::with_current_catalogue).
  [[nodiscard]] engine::CatalogueCache::Entry entry(Call& call, const std::string& task);
  // The catalogue was changed: it is read anew. forget() is the name that with_current_catalogue() calls it by.
  void forget_catalogue();
  void forget() { forget_catalogue(); }

 private:
  const std::shared_ptr<engine::Engine> engine_;
  const std::string ns_;
  engine::CatalogueCache catalogue_;
  schedule::Activities activities_;
  std::mutex mutex_;
  std::shared_ptr<const model::Catalogue> snapshot_;   // guarded by mutex_
  std::chrono::steady_clock::time_point looked_at_{};  // guarded by mutex_
  bool is_looking_ = false;                            // guarded by mutex_
  bool has_questions_ = false;                         // guarded by mutex_
  std::shared_ptr<detail::AppState> app_;              // guarded by mutex_
  std::unique_ptr<schedule::EventRouter> router_;      // guarded by mutex_
};

}  // namespace hapax::server
