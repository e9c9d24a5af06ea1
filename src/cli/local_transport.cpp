// The transport within this process: the routes' handlers run on the store itself, on the command's thread.
#include "api/activity_json.hpp"
#include "api/execution_json.hpp"
#include "api/routes/api.hpp"
#include "base/json_view.hpp"
#include "base/limits.hpp"
#include "cli/problem.hpp"
#include "cli/shell.hpp"
#include "cli/transport.hpp"
#include "engine/catalogue_cache.hpp"
#include "engine/engine.hpp"
#include "http/local_call.hpp"
#include "http/metrics.hpp"
#include "http/router.hpp"
#include "model/refusal.hpp"
#include "schedule/event_router.hpp"

namespace hapax::cli {
namespace {

// A batch is bounded in bytes too, because 5,000 inputs of 1 MiB would not fit in memory.
constexpr std::size_t local_batch_bytes = 16 << 20;

class LocalBulk : public Bulk {
 public:
  LocalBulk(engine::Engine& engine, std::string namespace_name)
      : engine_(engine), namespace_name_(std::move(namespace_name)), catalogue_(engine.catalogue(namespace_name_)) {}

  void add(RequestFields fields) override {
    fields.actor = actor_;
    bytes_ += fields.input.size() + fields.metadata.size();
    batch_.push_back(make_request(fields, namespace_name_, *catalogue_));
    fields.input.clear();  // the request has the input
    asked_.push_back(std::move(fields));
  }

  [[nodiscard]] bool is_full() const override {
    return batch_.size() >= static_cast<std::size_t>(limits::bulk_batch) || bytes_ >= local_batch_bytes;
  }

  [[nodiscard]] std::vector<BulkAnswer> flush() override {
    std::vector<BulkAnswer> answers;
    bool is_made = true;
    const std::vector<model::Admission> admissions = engine::with_current_catalogue(*catalogue_, [&] {
      if (!is_made) { remake(); }
      is_made = false;
      return engine_.admit_bulk(batch_);
    });
    for (std::size_t i = 0; i < admissions.size(); ++i) { answers.push_back(answer(admissions[i], batch_[i])); }
    batch_.clear();
    asked_.clear();
    bytes_ = 0;
    return answers;
  }

 private:
  // Builds the requests again, by the catalogue as it is now.
  void remake() {
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      asked_[i].input = std::move(batch_[i].input);
      batch_[i] = make_request(asked_[i], namespace_name_, *catalogue_);
      asked_[i].input.clear();
    }
  }

  static BulkAnswer answer(const model::Admission& admission, const model::NewExecution& request) {
    try {
      model::throw_if_refused(admission, model::asking_of(request));
    } catch (const Error& error) { return {.admission = {}, .error = error.name(), .message = error.what()}; }
    return {.admission = admission_json(admission, std::nullopt), .error = {}, .message = {}};
  }

  engine::Engine& engine_;
  const std::string namespace_name_;
  const std::shared_ptr<engine::CatalogueCache> catalogue_;
  const std::string actor_ = command_line_actor();
  std::vector<model::NewExecution> batch_;
  std::vector<RequestFields> asked_;  // the fields that each request was made of, without the input
  std::size_t bytes_ = 0;
};

class LocalEvents : public EventDoor {
 public:
  LocalEvents(engine::Engine& engine, const std::string& namespace_name) : router_(engine, namespace_name) {}

  [[nodiscard]] schedule::MissingId missing_id() override { return router_.missing_id(); }
  // Large, because the router writes one part of a batch while it builds the next.
  [[nodiscard]] std::size_t batch_most() const override { return 10'000; }

  [[nodiscard]] std::vector<std::string> send(std::span<const Outgoing> events) override {
    std::vector<schedule::Event> batch;
    for (const Outgoing& one : events) { batch.push_back(one.event); }
    const std::vector<schedule::Routed> routed = router_.route(batch);
    std::vector<std::string> documents;
    for (std::size_t i = 0; i < routed.size(); ++i) { documents.push_back(event_json(batch[i], routed[i], 0)); }
    return documents;
  }

  void flush() override { router_.flush(); }

 private:
  schedule::EventRouter router_;
};

class LocalTransport : public Transport {
 public:
  explicit LocalTransport(Shell& shell)
      : engine_(std::make_shared<engine::Engine>(shell.shared_store())),
        operator_{.namespace_name = shell.namespace_name(),
                  .channel = std::string(command_line_channel),
                  .name = user_at_host(),
                  .enqueue = true,
                  .read = true,
                  .work = true,
                  .admin = true},
        api_(std::make_shared<api::Api>(engine_, metrics_, nullptr, api::Api::Deadlines::looked_at)) {
    api::add_api_routes(router_, api_);
  }

  [[nodiscard]] std::string location() override { return engine_->store().info().location; }
  [[nodiscard]] Time now() override { return engine_->store().now(); }
  [[nodiscard]] int page_with_payloads() const override { return limits::list_page; }

  [[nodiscard]] std::string ask(const http::Question& question) override {
    http::Response answer = http::answer_locally(router_, operator_, question);
    if (answer.status >= 400) {
      const JsonView problem(answer.body);
      throw http::RemoteProblem(problem.text("error"), problem.text("detail"), answer.status, answer.body);
    }
    return std::move(answer.body);
  }

  [[nodiscard]] std::unique_ptr<Bulk> bulk() override {
    return std::make_unique<LocalBulk>(*engine_, operator_.namespace_name);
  }
  [[nodiscard]] std::unique_ptr<EventDoor> events() override {
    return std::make_unique<LocalEvents>(*engine_, operator_.namespace_name);
  }

 private:
  http::Metrics metrics_;  // outlives the engine, whose observer counts in it
  const std::shared_ptr<engine::Engine> engine_;
  const http::Principal operator_;
  const std::shared_ptr<api::Api> api_;
  http::Router router_;
};

}  // namespace

std::unique_ptr<Transport> local_transport(Shell& shell) { return std::make_unique<LocalTransport>(shell); }

}  // namespace hapax::cli
