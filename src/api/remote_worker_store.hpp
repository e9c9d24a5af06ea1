// WorkerStore: a server's worker protocol (docs/guides/worker-protocol.md) as a store, so that engine::Worker runs on
// it unchanged: claims, outcomes, beats, cancellation, grace, lost sessions.
//
// The verbs that no worker calls throw Unsupported; the server does the sweeping and ticking. Any thread. A server
// that cannot be reached is StoreUnavailable, which workers wait out.
#pragma once

#include "http/client.hpp"
#include "store/store.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace hapax::api {

class WorkerStore : public store::Store {
 public:
  explicit WorkerStore(std::shared_ptr<http::ApiClient> api) : api_(std::move(api)) {}

  [[nodiscard]] store::StoreInfo info() override;
  [[nodiscard]] Time now() override;

  [[nodiscard]] store::Exchange exchange(std::span<const store::Finish> finishes,
                                         const store::ClaimRequest* claim) override;
  // The server assigns its own ID to the session.
  void open_session(const store::NewSession& session) override;
  [[nodiscard]] store::BeatReply beat(const store::Beat& beat) override;
  [[nodiscard]] std::vector<Uuid> cancel_requests(const Uuid& session) override;
  void close_session(const Uuid& session) override;
  [[nodiscard]] std::vector<store::QueueInfo> queues(std::string_view ns) override;
  [[nodiscard]] store::SweepReport sweep(const store::SweepRequest&) override { return {}; }
  void announce(std::span<const store::QueueRef>) override {}

  [[nodiscard]] std::vector<store::Admission> admit(std::span<const store::NewExecution>) override { refuse(); }
  [[nodiscard]] std::vector<store::SessionInfo> sessions() override { refuse(); }
  [[nodiscard]] std::optional<store::Execution> get(const Uuid&) override { refuse(); }
  [[nodiscard]] std::vector<std::optional<store::Outcome>> outcomes(std::span<const Uuid>) override { refuse(); }
  [[nodiscard]] bool has_expired(std::string_view, const Uuid&) override { refuse(); }
  [[nodiscard]] std::optional<store::Holding> holding(const base::Digest&) override { refuse(); }
  [[nodiscard]] std::vector<store::Execution> list(const store::ListQuery&) override { refuse(); }
  [[nodiscard]] std::optional<store::Guard> guard(const base::Digest&) override { refuse(); }
  [[nodiscard]] std::vector<store::Attempt> attempts(const Uuid&) override { refuse(); }
  [[nodiscard]] std::vector<store::CancelResult> cancel(std::span<const Uuid>, std::string_view,
                                                        const store::Actor&) override {
    refuse();
  }
  [[nodiscard]] std::vector<store::RetryResult> retry(std::span<const store::RetryRequest>,
                                                      const store::Actor&) override {
    refuse();
  }
  int forget_guards(std::span<const Uuid>) override { refuse(); }
  int discard(std::span<const Uuid>, const store::Actor&) override { refuse(); }
  int annotate(std::span<const Uuid>, std::string_view, const store::Actor&) override { refuse(); }
  void configure_queue(const store::QueueRef&, const store::QueuePatch&) override { refuse(); }
  [[nodiscard]] int purge(const store::QueueRef&, int, const store::Actor&) override { refuse(); }
  [[nodiscard]] int move(const store::QueueRef&, const store::QueueRef&, int, const store::Actor&) override {
    refuse();
  }
  [[nodiscard]] store::StoredCatalogue catalogue(std::string_view) override { refuse(); }
  [[nodiscard]] store::TaskEntry declare_task(const store::TaskEntry&) override { refuse(); }
  bool put_task(const store::TaskEntry&, std::string_view) override { refuse(); }
  bool remove_task(std::string_view, std::string_view, std::string_view) override { refuse(); }
  bool put_setting(std::string_view, const store::Setting&, std::string_view) override { refuse(); }
  [[nodiscard]] std::vector<store::AuditLine> audit(const store::AuditQuery&) override { refuse(); }
  [[nodiscard]] store::Token add_token(const store::NewToken&, const store::Actor&) override { refuse(); }
  [[nodiscard]] std::vector<store::Token> tokens(std::string_view) override { refuse(); }
  [[nodiscard]] std::optional<store::Token> find_token(const base::Digest&) override { refuse(); }
  [[nodiscard]] bool has_tokens() override { refuse(); }
  [[nodiscard]] bool revoke_token(std::string_view, const Uuid&, const store::Actor&) override { refuse(); }
  void touch_tokens(std::span<const Uuid>) override { refuse(); }
  [[nodiscard]] std::vector<store::FinishVerdict> journal_append(std::span<const store::JournalEntry>) override {
    refuse();
  }
  [[nodiscard]] std::vector<store::JournalEntry> journal_read(const Uuid&) override { refuse(); }
  [[nodiscard]] std::vector<store::AdvanceReply> advance(std::span<const store::Advance>) override { refuse(); }
  [[nodiscard]] store::FinishVerdict relabel(const store::Held&, const store::Labels&) override { refuse(); }
  [[nodiscard]] std::vector<store::History> histories(std::span<const store::HistoryRequest>) override { refuse(); }
  [[nodiscard]] std::vector<store::SignalResult> signal(std::span<const store::Signal>, const store::Actor&) override {
    refuse();
  }
  [[nodiscard]] std::vector<store::ActivityReply> change_activities(std::span<const store::ActivityChange>) override {
    refuse();
  }
  [[nodiscard]] std::vector<store::ActivityState> activities(const store::ActivityQuery&) override { refuse(); }
  [[nodiscard]] std::vector<store::ActivityVersion> activity_versions(std::string_view, std::string_view) override {
    refuse();
  }
  [[nodiscard]] std::int64_t activity_generation(std::string_view) override { refuse(); }
  [[nodiscard]] store::DueActivities due_activities(int) override { refuse(); }
  void transaction(const std::function<void(store::Transaction&)>&) override { refuse(); }
  [[nodiscard]] std::unique_ptr<store::Transaction> attach(void*) override { refuse(); }
  [[nodiscard]] std::unique_ptr<store::Listener> listen() override { refuse(); }
  [[nodiscard]] store::TextTable sql(std::string_view, int) override { refuse(); }
  [[nodiscard]] std::vector<store::Finding> doctor() override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw Unsupported("a worker that asks a server has claims and outcomes, and no other call of a store");
  }
  // The server's ID of the session. Throws StaleLease if the session was never opened or has been replaced.
  [[nodiscard]] std::string server_session(const Uuid& session);
  [[nodiscard]] std::vector<store::FinishVerdict> finish_all(std::span<const store::Finish> finishes);
  // One request, with as many outcomes as fit its size limit.
  [[nodiscard]] std::vector<store::FinishVerdict> finish_some(const std::vector<std::string>& items);
  [[nodiscard]] store::ClaimReply claim_some(const store::ClaimRequest& request, bool may_wait);

  const std::shared_ptr<http::ApiClient> api_;
  std::mutex mutex_;
  Uuid session_;                // the worker's ID of the session; guarded by mutex_, like the members below
  std::string server_session_;  // the server's ID of it
  Duration lease_{0};
  std::string worker_;
};

}  // namespace hapax::api
