// CallerSession: the session under which this process makes guarded calls, as the process knows it.
//
// The store has the truth; this is the other side of it: which begins are under way, what is held, and what the next beat
// has to say. One for each takeover_after, which is the session's lease, so that one row keeps any number of calls. It is
// opened when first needed and left to lapse when nothing is held; a session that was lost is opened again under its own
// id, so that what nobody has taken over is its own again. Any thread.
#pragma once

#include "store/store.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace hapax::guard {

class CallerSession {
 public:
  CallerSession(store::Store& store, Duration lease, std::string owner);
  CallerSession(const CallerSession&) = delete;
  CallerSession& operator=(const CallerSession&) = delete;

  // A begin under way. Each is settled, by started() or given_up().
  struct Ticket {
    model::BornRunning born;
    std::uint64_t opened = 0;  // how often the session had been opened
  };
  // Opens the session if it never was; throws what the store throws.
  [[nodiscard]] Ticket begin();
  void started(const Ticket& ticket, const model::Held& held);
  // Nothing was started, or nobody knows: then the next beat gives up what the store may have taken.
  void given_up(const Ticket& ticket);
  // The store had no such session when the ticket was used: it is opened again, unless somebody did so since.
  void reopen(const Ticket& ticket);

  // How long the call has run; it is held until ended().
  [[nodiscard]] Duration ran_for(const Uuid& id) const;
  void ended(const Uuid& id);
  // Its outcome may not have been kept. It is held for as long as the caller says that it holds it.
  void in_doubt(const Uuid& id);

  // Renews the lease, and answers which of `ids` are no longer held. Nothing is sent when nothing is held.
  [[nodiscard]] std::vector<Uuid> beat(const std::vector<Uuid>& ids);

 private:
  struct Hold {
    std::int64_t fence = 0;
    std::chrono::steady_clock::time_point since;
    bool in_doubt = false;
  };

  void open();
  [[nodiscard]] model::Beat next_beat(const std::vector<Uuid>& ids);

  store::Store& store_;
  const Duration lease_;
  const std::string owner_;
  const Uuid id_;
  std::mutex opening_;  // held while the store is asked to open it
  mutable std::mutex mutex_;
  std::uint64_t opened_ = 0;
  std::int64_t last_claim_ = 0;
  std::vector<std::int64_t> open_claims_;  // as many as threads begin at once
  std::map<Uuid, Hold> held_;
};

}  // namespace hapax::guard
