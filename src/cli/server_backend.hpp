// ServerBackend: answers a command's requests through a server, over HTTP (docs/reference/http.md).
#pragma once

#include "cli/backend.hpp"
#include "cli/problem.hpp"
#include "http/client.hpp"

namespace hapax::cli {

class ServerBackend : public Backend {
 public:
  explicit ServerBackend(std::shared_ptr<http::ApiClient> api) : api_(std::move(api)) {}

  [[nodiscard]] std::string location() override { return api_->url(); }
  // This machine's clock, which serves only to print relative times, so a small error does no harm.
  [[nodiscard]] Time now() override;
  [[nodiscard]] Uuid find(const ExecutionName& name) override;
  void check(const Uuid& id) override;
  [[nodiscard]] std::string show(const Uuid& id) override;
  [[nodiscard]] std::vector<std::string> list(const Listing& listing) override;
  [[nodiscard]] std::string admit(const api::RequestFields& fields) override;
  [[nodiscard]] std::unique_ptr<Bulk> bulk() override;
  [[nodiscard]] std::string await(const Uuid& id, std::optional<Duration> at_most) override;
  [[nodiscard]] std::string explain(const Uuid& id) override;
  [[nodiscard]] std::string identity(const api::RequestFields& fields) override;
  [[nodiscard]] std::string cancel(std::span<const Uuid> ids, const std::string& reason) override;
  [[nodiscard]] std::string retry(std::span<const Uuid> ids, const Retrying& how) override;
  [[nodiscard]] std::int64_t discard(std::span<const Uuid> ids) override;
  [[nodiscard]] std::int64_t annotate(std::span<const Uuid> ids, const std::string& note) override;
  [[nodiscard]] std::string signal(const model::Signal& signal) override;
  [[nodiscard]] std::string export_journal(const Uuid& id) override;
  [[nodiscard]] std::string fork(const Uuid& id, int steps, const std::string& workflow_id) override;
  [[nodiscard]] std::vector<std::string> queues() override;
  [[nodiscard]] std::string queue(const std::string& name) override;
  [[nodiscard]] std::string set_queue(const std::string& name, const QueueValues& values) override;
  [[nodiscard]] std::string act_on_queue(const std::string& name, QueueAct act, Absent absent) override;
  [[nodiscard]] Purged purge(const std::string& name) override;
  [[nodiscard]] std::int64_t move(const MoveRequest& request) override;
  [[nodiscard]] std::string overview() override;
  [[nodiscard]] KnownNames known_names() override;
  [[nodiscard]] std::vector<std::string> activities(int limit, const std::optional<std::string>& after) override;
  [[nodiscard]] std::string activity(const std::string& id, bool versions) override;
  [[nodiscard]] std::optional<std::string> find_activity(const std::string& id) override;
  void check_activity(const std::string& id) override;
  [[nodiscard]] std::string apply_activity(const schedule::Activity& activity) override;
  void remove_activity(const std::string& id) override;
  [[nodiscard]] std::string pause_activity(const std::string& id, const std::string& note) override;
  [[nodiscard]] std::string resume_activity(const std::string& id) override;
  [[nodiscard]] std::string trigger_activity(const std::string& id,
                                             const schedule::Activities::Manual& manual) override;
  [[nodiscard]] std::string backfill_activity(const std::string& id, const BackfillRange& range,
                                              const BackfillProgress& progress) override;
  [[nodiscard]] std::unique_ptr<EventDoor> events() override;

 private:
  const std::shared_ptr<http::ApiClient> api_;
};

}  // namespace hapax::cli
