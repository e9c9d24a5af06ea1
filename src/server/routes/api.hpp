// The API of SPEC §10: every route, and what the routes share.
//
// One Api serves a whole server, on all of its threads; it outlives the router that its routes are added to. Routes look
// at the principal's namespace and at nothing outside it: an execution of another tenant is as good as not there.
#pragma once

#include "engine/engine.hpp"
#include "server/call.hpp"
#include "server/metrics.hpp"
#include "server/router.hpp"
#include "server/routes/api_metrics.hpp"
#include "server/routes/tenant.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace hapax::server {

class Feeds;
class RemoteSessions;

class Api {
 public:
  // `metrics` outlives the API.
  Api(std::shared_ptr<engine::Engine> engine, Metrics& metrics);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  ~Api();

  [[nodiscard]] engine::Engine& engine() { return *engine_; }
  [[nodiscard]] store::Store& store() { return engine_->store(); }
  [[nodiscard]] ApiMetrics& metrics() { return metrics_; }
  [[nodiscard]] RemoteSessions& sessions() { return *sessions_; }
  [[nodiscard]] Feeds& feeds() { return *feeds_; }

  // What is kept of a namespace. Never blocks.
  [[nodiscard]] std::shared_ptr<Tenant> tenant(const std::string& ns);

  // The execution, if it is one of the caller's namespace; else throws NotFound. Blocks: for store threads.
  [[nodiscard]] model::Execution find(const std::string& ns, const Uuid& id);
  // The same without its payloads.
  [[nodiscard]] model::Execution find_briefly(const std::string& ns, const Uuid& id);

  // Ends what it and the engine do in the background and answers who still waits. Before the engine goes.
  void stop();

 private:
  const std::shared_ptr<engine::Engine> engine_;
  ApiMetrics metrics_;
  std::unique_ptr<RemoteSessions> sessions_;
  std::unique_ptr<Feeds> feeds_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Tenant>> tenants_;  // guarded by mutex_
};

// All of them.
void add_api_routes(Router& router, const std::shared_ptr<Api>& api);

// A file a topic.
void add_enqueue_routes(Router& router, const std::shared_ptr<Api>& api);
void add_batch_routes(Router& router, const std::shared_ptr<Api>& api);
void add_execution_routes(Router& router, const std::shared_ptr<Api>& api);
void add_act_routes(Router& router, const std::shared_ptr<Api>& api);
void add_workflow_routes(Router& router, const std::shared_ptr<Api>& api);
void add_catalogue_routes(Router& router, const std::shared_ptr<Api>& api);
void add_claim_routes(Router& router, const std::shared_ptr<Api>& api);
void add_queue_routes(Router& router, const std::shared_ptr<Api>& api);
void add_dead_letter_routes(Router& router, const std::shared_ptr<Api>& api);
void add_activity_routes(Router& router, const std::shared_ptr<Api>& api);
void add_event_routes(Router& router, const std::shared_ptr<Api>& api);
void add_stream_routes(Router& router, const std::shared_ptr<Api>& api);
void add_description_routes(Router& router);

}  // namespace hapax::server
