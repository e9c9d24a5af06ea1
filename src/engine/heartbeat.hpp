// Heartbeat: renews the lease of a worker's session, and notices when the session is lost.
//
// A step beats when the interval (a third of the lease) is over, and sooner when there is progress to report or the
// session's state is in doubt. It looks for cancellations about once a second while the worker holds runs, and opens a
// new session when the old one was lost. One thread calls step().
#pragma once

#include "engine/backoff.hpp"
#include "engine/observations.hpp"
#include "engine/session.hpp"
#include "model/execution.hpp"
#include "store/store.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace hapax::engine {

class Heartbeat {
 public:
  struct Options {
    model::NewSession description;  // each session gets a new id
    Duration interval{0};
    std::function<void(const std::vector<RunPtr>&)> on_lost;  // runs that no longer belong to this worker
    std::function<void()> on_opened;
    std::function<void(const RunPtr&)> on_cancel;  // a run that was just asked to stop by a cancellation; may be empty
    std::function<void(std::string_view)> on_trouble;
    const Observations* observations = nullptr;  // null: a worker of a server
  };

  Heartbeat(store::WorkStore& store, Session& session, Options options);

  // Opens a session; throws what the store throws.
  void open();
  [[nodiscard]] Time step(Time now);

  // Sends the counts of outcomes since the last beat, if there are any; throws what the store throws. Call it after the
  // last step.
  void send_last_counts();

  // Makes the next step send a beat, even if the interval is not over. Any thread may call this.
  void request_beat() { beat_requested_.store(true); }
  [[nodiscard]] std::int64_t sessions_lost() const { return sessions_lost_.load(); }

 private:
  void beat(Time now);
  void look_for_cancellations(Time now);
  void apply(const model::BeatReply& reply, const model::Beat& sent, Time now);
  void cancel(const std::vector<Uuid>& ids);
  void lost(const Uuid& id);
  void reopen(Time now);

  store::WorkStore& store_;
  Session& session_;
  Options options_;
  Backoff backoff_;
  Time beat_at_{};
  Time glance_at_{};
  Time progress_at_{};
  std::atomic<bool> beat_requested_{false};
  std::atomic<std::int64_t> sessions_lost_{0};
};

}  // namespace hapax::engine
