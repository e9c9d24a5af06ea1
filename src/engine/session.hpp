// Session: what a worker's session holds, as the worker knows it.
//
// The store has the truth; this is the other side of it: which claims are under way, which runs are in hand, and what
// the next beat has to say. Shared by dispatcher, heartbeat and those who enqueue for their own worker. Any thread.
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

// A claim under way. Every ticket is settled or abandoned, or the next beats cannot tell a lost reply.
struct ClaimTicket {
  Uuid session;
  std::int64_t number = 0;
};

class Session {
 public:
  void opened(const Uuid& id);
  [[nodiscard]] bool is_open() const;
  [[nodiscard]] Uuid id() const;                      // the last one, also when it was lost
  [[nodiscard]] bool has_been(const Uuid& id) const;  // this one or an earlier one that was lost

  // None while no session is open.
  [[nodiscard]] std::optional<ClaimTicket> begin_claim();
  // The claim was answered: its runs are held from now on. False when the session was lost meanwhile, so that they
  // are nobody's here.
  [[nodiscard]] bool settle(const ClaimTicket& ticket, std::span<const RunPtr> runs);
  // The claim failed or its answer never came: the next beat releases what it may have taken.
  void abandon(const ClaimTicket& ticket) { (void)settle(ticket, {}); }

  void remove(std::span<const RunPtr> runs);
  void count(const model::QueueRef& queue, const model::QueueCount& more);

  [[nodiscard]] int held() const;
  [[nodiscard]] std::vector<RunPtr> runs() const;
  [[nodiscard]] RunPtr find(const Uuid& id) const;
  [[nodiscard]] bool has_progress() const;

  // What a beat says now. Takes progress and counts; put_back() returns the counts of a beat that failed.
  [[nodiscard]] model::Beat beat(Duration lease);
  void put_back(const std::vector<model::QueueCount>& counts);

  // The session is gone: nothing is held any more. Returns what was, each told to stop. Empty when it is another
  // session by now.
  [[nodiscard]] std::vector<RunPtr> lose(const Uuid& id);

 private:
  mutable std::mutex mutex_;
  Uuid id_;
  std::vector<Uuid> earlier_;
  bool open_ = false;
  std::int64_t last_claim_ = 0;
  std::vector<std::int64_t> open_claims_;  // few
  std::vector<RunPtr> runs_;               // Run::slot is the place here
  std::map<model::QueueRef, model::QueueCount> counts_;
};

}  // namespace hapax::engine
