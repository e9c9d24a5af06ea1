// CallerSession: the session under which this process makes guarded calls, as the process knows it.
//
// The store has the truth; this is the other side of it: which begins are under way, what is held, and what the next beat
// has to say. One for each takeover_after, which is the session's lease, so that one row keeps any number of calls. It is
// opened when first needed and left to lapse when nothing is held. Once the store has refused a begin as its lease was
// over, no more calls begin under it: opening it for them would renew calls whose heartbeat has stopped, and who waits for
// one in this process could never take it over. A beat that finds it lost opens it again under its own id, so that what
// nobody has taken over is its own again. Any thread.
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

  // A begin under way. Each is settled, by started() or given_up().
  using Ticket = model::BornRunning;
  // Opens the session if it never was; throws what the store throws. None: it has lapsed, begin under another.
  [[nodiscard]] std::optional<Ticket> begin();
  void started(const Ticket& ticket, const model::Held& held);
  // Nothing was started, or nobody knows: then the next beat gives up what the store may have taken.
  void given_up(const Ticket& ticket);
  // The store had no such session, or its lease was over, when a ticket was used.
  void lapsed();
  [[nodiscard]] bool has_lapsed() const;
  // It has lapsed, and nothing is begun or held under it any more.
  [[nodiscard]] bool is_over() const;

  // How long the call has run; none: it is not held here. It is held until ended().
  [[nodiscard]] std::optional<Duration> ran_for(const model::Held& held) const;
  void ended(const model::Held& held);
  // Its outcome may not have been kept. It is held for as long as the caller says that it holds it.
  void in_doubt(const model::Held& held);

  // Renews the lease, and answers which of `holds` are no longer held. Nothing is sent when nothing is held.
  [[nodiscard]] std::vector<model::Held> beat(const std::vector<model::Held>& holds);

 private:
  // By id and fence: a call that was taken over by this very process is the same execution.
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
  std::mutex opening_;  // held while the store is asked to open it
  mutable std::mutex mutex_;
  bool opened_ = false;
  bool lapsed_ = false;
  std::int64_t last_claim_ = 0;
  std::vector<std::int64_t> open_claims_;  // as many as threads begin at once
  std::map<model::Held, Hold, Order> held_;
};

}  // namespace hapax::guard
