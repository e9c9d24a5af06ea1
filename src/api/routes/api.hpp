// The HTTP API: all routes under /v1 and /openapi.json, and the state that they share.
//
// One Api serves a whole server, on all of its threads; it outlives the router that holds its routes. Routes see only
// the principal's namespace: another tenant's execution counts as absent.
#pragma once

#include "api/routes/tenant.hpp"
#include "app/operations.hpp"
#include "engine/engine.hpp"
#include "http/call.hpp"
#include "http/metrics.hpp"
#include "http/router.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace hapax::api {

class Feeds;
class RemoteSessions;

class Api {
 public:
  // Overdue executions are ended by one of two: the sweeper of this process, or, in a process without one, the API
  // itself, before it shows such an execution or compares a request with it.
  enum class Deadlines : std::uint8_t { swept, looked_at };
  // Observes the engine, which nobody has used before. `metrics` outlives the engine's use; `observer` may be null.
  Api(std::shared_ptr<engine::Engine> engine, http::Metrics& metrics, std::shared_ptr<Observer> observer = nullptr,
      Deadlines deadlines = Deadlines::swept);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  ~Api();

  [[nodiscard]] engine::Engine& engine() { return *engine_; }
  [[nodiscard]] store::Store& store() { return engine_->store(); }
  [[nodiscard]] RemoteSessions& sessions() { return *sessions_; }
  [[nodiscard]] Feeds& feeds() { return *feeds_; }

  // The in-memory state of a namespace. Never blocks.
  [[nodiscard]] std::shared_ptr<Tenant> tenant(const std::string& namespace_name);

  // The operator's acts in the principal's namespace, with the principal as actor.
  [[nodiscard]] app::Operations operations(const http::Call& call);
  // The execution; throws NotFound if it does not exist in `namespace_name`. Blocks: for store threads.
  [[nodiscard]] model::Execution find(const std::string& namespace_name, const Uuid& id);
  // As find(), without payloads.
  [[nodiscard]] model::Execution find_briefly(const std::string& namespace_name, const Uuid& id);

  // Ends the execution if its deadline has passed and the API has to do that. True: the execution is to be read again.
  // Blocks.
  [[nodiscard]] bool end_if_overdue(const Uuid& id);
  [[nodiscard]] bool end_if_overdue(const model::Execution& execution);
  [[nodiscard]] bool ends_overdue() const { return deadlines_ == Deadlines::looked_at; }

  // Stops the background work of the API and the engine, and answers waiting calls. Call it before the engine is
  // destroyed.
  void stop();

 private:
  const std::shared_ptr<engine::Engine> engine_;
  const Deadlines deadlines_;
  std::unique_ptr<RemoteSessions> sessions_;
  std::unique_ptr<Feeds> feeds_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Tenant>> tenants_;  // guarded by mutex_
};

// Adds all routes.
void add_api_routes(http::Router& router, const std::shared_ptr<Api>& api);

// One function per topic, each in a file of its own.
void add_enqueue_routes(http::Router& router, const std::shared_ptr<Api>& api);
void add_batch_routes(http::Router& router, const std::shared_ptr<Api>& api);
void add_execution_routes(http::Router& router, const std::shared_ptr<Api>& api);
void add_act_routes(http::Router& router, const std::shared_ptr<Api>& api);
void add_workflow_routes(http::Router& router, const std::shared_ptr<Api>& api);
void add_catalogue_routes(http::Router& router, const std::shared_ptr<Api>& api);
void add_claim_routes(http::Router& router, const std::shared_ptr<Api>& api);
void add_finish_route(http::Router& router, const std::shared_ptr<Api>& api);
void add_queue_routes(http::Router& router, const std::shared_ptr<Api>& api);
void add_dead_letter_routes(http::Router& router, const std::shared_ptr<Api>& api);
void add_activity_routes(http::Router& router, const std::shared_ptr<Api>& api);
void add_event_routes(http::Router& router, const std::shared_ptr<Api>& api);
void add_stream_routes(http::Router& router, const std::shared_ptr<Api>& api);

}  // namespace hapax::api
