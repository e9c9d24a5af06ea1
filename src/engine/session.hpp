// Session: a worker's own view of its session in the store: which claims are under way, which runs it holds, and what
// the next beat says.
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
  // The claim was answered: the session holds its runs from now on. Returns false when the session was lost meanwhile;
  // then the runs are not this worker's.
  [[nodiscard]] bool settle(const ClaimTicket& ticket, std::span<const RunPtr> runs);
  // The claim failed or its answer never came: after the next beat the store releases what the claim may have taken.
  void abandon(const ClaimTicket& ticket) { (void)settle(ticket, {}); }

  void remove(std::span<const RunPtr> runs);
  void count(const model::QueueRef& queue, const model::QueueCount& more);

  [[nodiscard]] int held() const;
  [[nodiscard]] std::vector<RunPtr> runs() const;
  [[nodiscard]] RunPtr find(const Uuid& id) const;
  [[nodiscard]] bool has_progress() const;

  // The content of a beat sent now. Takes progress and counts out of the session; put_back() returns the counts of a
  // beat that failed.
  [[nodiscard]] model::Beat beat(Duration lease);
  void put_back(const std::vector<model::QueueCount>& counts);

  // Marks the session as lost: it holds nothing any more. Returns the runs it held, each asked to stop; none when `id`
  // is not the open session.
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
