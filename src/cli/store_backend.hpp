// StoreBackend: answers a command's requests from the store itself.
#pragma once

#include "app/operations.hpp"
#include "cli/backend.hpp"
#include "cli/shell.hpp"
#include "engine/catalogue_cache.hpp"
#include "engine/engine.hpp"

namespace hapax::cli {

class StoreBackend : public Backend {
 public:
  // The shell must outlive the backend.
  explicit StoreBackend(Shell& shell);

  [[nodiscard]] std::string location() override { return store().info().location; }
  [[nodiscard]] Time now() override { return store().now(); }
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
  [[nodiscard]] store::Store& store() { return *store_; }
  // get() throws NotFound for an execution that does not exist in the shell's namespace.
  enum class Payloads : std::uint8_t { with, without };
  [[nodiscard]] model::Execution get(const Uuid& id, Payloads payloads = Payloads::with);

  Shell& shell_;
  const std::shared_ptr<store::Store> store_;
  const std::string namespace_name_;
  engine::Engine engine_;
  const app::Operations operations_;
  const std::shared_ptr<engine::CatalogueCache> catalogue_;
  schedule::Activities activities_;
};

}  // namespace hapax::cli
