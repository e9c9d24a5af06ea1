// Session: a worker's own view of its session in the store: which claims are under way, which runs it holds, and the
// content of the next beat.
//
// The store has the truth. The dispatcher, the heartbeat and threads that enqueue for a local worker share a Session;
// any thread may call it.
#pragma once

#include "engine/run.hpp"
#include "model/execution.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace hapax::engine {

// A claim under way. Every ticket must be settled or abandoned; otherwise later beats cannot detect a lost claim reply.
struct ClaimTicket {
  Uuid session;
  std::int64_t number = 0;
};

class Session {
 public:
  void opened(const Uuid& id);
  [[nodiscard]] bool is_open() const;
  [[nodiscard]] Uuid id() const;                      // of the latest session, also after it was lost
  [[nodiscard]] bool has_been(const Uuid& id) const;  // the latest session or an earlier, lost one

  // Returns none while no session is open.
  [[nodiscard]] std::optional<ClaimTicket> begin_claim();
  // Adds the runs of an answered claim to the session. Returns false when the session was lost meanwhile; the runs then
  // belong to no session of this worker.
  [[nodiscard]] bool settle(const ClaimTicket& ticket, std::span<const RunPtr> runs);
  // Ends a claim that failed or whose answer never came: after the next beat the store releases the executions that the
  // claim may have taken.
  void abandon(const ClaimTicket& ticket) { (void)settle(ticket, {}); }

  void remove(std::span<const RunPtr> runs);
  void count(const model::QueueRef& queue, const model::QueueCount& more);

  [[nodiscard]] int held() const;
  [[nodiscard]] std::vector<RunPtr> runs() const;
  [[nodiscard]] RunPtr find(const Uuid& id) const;
  [[nodiscard]] bool has_progress() const;

  // Returns the content of a beat sent now. beat() takes progress and counts out of the session; put_back() returns the
  // counts of a beat that failed.
  [[nodiscard]] model::Beat beat(Duration lease);
  void put_back(const std::vector<model::QueueCount>& counts);

  // Marks the session as lost, so that it holds no runs. Returns the runs that it held, each asked to stop; none when
  // `id` is not the open session.
  [[nodiscard]] std::vector<RunPtr> lose(const Uuid& id);

 private:
  mutable std::mutex mutex_;
  Uuid id_;
  std::vector<Uuid> earlier_;
  bool open_ = false;
  std::int64_t last_claim_ = 0;
  std::vector<std::int64_t> open_claims_;  // few at a time
  std::vector<RunPtr> runs_;               // Run::slot is the index
  std::map<model::QueueRef, model::QueueCount> counts_;
};

}  // namespace hapax::engine
