// RemoteWorkStore: a server's worker protocol (docs/guides/worker-protocol.md) as a WorkStore, so that engine::Worker
// runs on it unchanged: claims, outcomes, beats, cancellation, grace, lost sessions. The server sweeps and ticks.
//
// Any thread may call. A server that cannot be reached throws StoreUnavailable, after which workers try again.
#pragma once

#include "http/client.hpp"
#include "store/store.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace hapax::api {

class RemoteWorkStore final : public store::WorkStore {
 public:
  explicit RemoteWorkStore(std::shared_ptr<http::ApiClient> api) : api_(std::move(api)) {}

  [[nodiscard]] store::StoreInfo info() override;

  [[nodiscard]] store::Exchange exchange(std::span<const store::Finish> finishes,
                                         const store::ClaimRequest* claim) override;
  // The server assigns its own ID to the session.
  void open_session(const store::NewSession& session) override;
  [[nodiscard]] store::BeatReply beat(const store::Beat& beat) override;
  [[nodiscard]] std::vector<Uuid> cancel_requests(const Uuid& session) override;
  void close_session(const Uuid& session) override;
  [[nodiscard]] std::vector<store::QueueInfo> queues(std::string_view namespace_name) override;

 private:
  // The server's ID of the session. Throws StaleLease if the session was never opened or has been replaced.
  [[nodiscard]] std::string server_session(const Uuid& session);
  [[nodiscard]] std::vector<store::FinishVerdict> finish_all(std::span<const store::Finish> finishes);
  // One request, with as many outcomes as fit its size limit.
  [[nodiscard]] std::vector<store::FinishVerdict> finish_some(const std::vector<std::string>& items);
  [[nodiscard]] store::ClaimReply claim_some(const store::ClaimRequest& request, bool may_wait);

  const std::shared_ptr<http::ApiClient> api_;
  std::mutex mutex_;
  Uuid session_;                // the worker's ID of the session; guarded by mutex_, like the members below
  std::string server_session_;  // the server's ID of the session
  Duration lease_{0};
  std::string worker_;
};

}  // namespace hapax::api
