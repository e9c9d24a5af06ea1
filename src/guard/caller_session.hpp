// CallerSession: this process's view of a session under which it makes guarded calls.
//
// The store's row decides; this object tracks which begins are under way, which calls are held, and what the next beat
// sends.
// A process has one session per takeover_after, which is the session's lease, so one row keeps any number of calls. The
// first begin opens the session; a session that holds nothing is left to expire.
// Once the store has refused a begin because the lease was over, no more calls begin under this session: opening it
// again for them would renew calls whose heartbeat has stopped, and a waiter in this process could never take those
// calls over. A beat that finds the session lost opens it again under the same ID, so that it holds again the calls
// that nobody has taken over. Any thread.
#pragma once

#include "store/store.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace hapax::guard {

class CallerSession {
 public:
  CallerSession(store::Store& store, Duration lease, std::string owner);
  CallerSession(const CallerSession&) = delete;
  CallerSession& operator=(const CallerSession&) = delete;

  // A begin under way. Each ticket is settled by started() or given_up().
  using Ticket = model::BornRunning;
  // Opens the session if it was never opened; throws what the store throws. Returns none when the session has lapsed:
  // begin under another session.
  [[nodiscard]] std::optional<Ticket> begin();
  void started(const Ticket& ticket, const model::Held& held);
  // Ends a ticket whose begin started nothing or whose commit is unknown: the next beat releases the call that the
  // store may have started.
  void given_up(const Ticket& ticket);
  // Marks the session as lapsed: the store did not know it, or its lease was over, when a ticket was used.
  void lapsed();
  [[nodiscard]] bool has_lapsed() const;
  // True when the session has lapsed and no call is begun or held under it any more.
  [[nodiscard]] bool is_over() const;

  // Returns how long the call has run; none: this session does not hold the call. A call is held until ended().
  [[nodiscard]] std::optional<Duration> ran_for(const model::Held& held) const;
  void ended(const model::Held& held);
  // Marks a call whose outcome may not have been stored. Beats renew its hold only while the caller still lists the
  // call.
  void in_doubt(const model::Held& held);

  // Renews the lease, and returns those of `holds` that are lost. Sends nothing when nothing is held.
  [[nodiscard]] std::vector<model::Held> beat(const std::vector<model::Held>& holds);

 private:
  // By ID and fence: when this process takes over its own call, both holds have the same execution.
  struct Order {
    bool operator()(const model::Held& one, const model::Held& other) const {
      return std::tie(one.id, one.fence) < std::tie(other.id, other.fence);
    }
  };
  struct Hold {
    std::chrono::steady_clock::time_point since;
    bool in_doubt = false;
  };

  void open();
  [[nodiscard]] model::Beat next_beat(const std::vector<model::Held>& holds);

  store::Store& store_;
  const Duration lease_;
  const std::string owner_;
  const Uuid id_;
  std::mutex opening_;  // held while the store opens the session
  mutable std::mutex mutex_;
  bool opened_ = false;
  bool lapsed_ = false;
  std::int64_t last_claim_ = 0;
  std::vector<std::int64_t> open_claims_;  // at most one per thread that begins
  std::map<model::Held, Hold, Order> held_;
};

}  // namespace hapax::guard
