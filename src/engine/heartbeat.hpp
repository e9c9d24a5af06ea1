// Heartbeat: keeps a worker's session alive, and finds out what happened to it.
//
// A step beats when a third of the lease is over (sooner when there is progress to tell or something is in doubt),
// looks for cancellations about once a second while anything is held, and opens a new session when the old one was
// lost. One thread calls step().
#pragma once

#include "engine/dispatcher.hpp"
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
    model::NewSession description;  // its id is made anew for every session
    Duration interval{0};
    std::function<void(const std::vector<RunPtr>&)> on_lost;  // runs that are not this worker's any more
    std::function<void()> on_opened;
    std::function<void(const RunPtr&)> on_cancel;  // it was just told that somebody asked for its end; may be empty
    std::function<void(std::string_view)> on_trouble;
  };

  Heartbeat(store::Store& store, Session& session, Options options);

  // Opens the first session; throws what the store throws.
  void open();
  [[nodiscard]] Time step(Time now);

  // Tells the store what finished since the last beat, if anything did; throws what the store throws. After the last step.
  void farewell();

  // The next step beats, whenever it is. Any thread.
  void hurry() { hurry_.store(true); }
  [[nodiscard]] std::int64_t sessions_lost() const { return sessions_lost_.load(); }

 private:
  void beat(Time now);
  void glance(Time now);
  void apply(const model::BeatReply& reply, const model::Beat& sent, Time now);
  void cancel(const std::vector<Uuid>& ids);
  void lost(const Uuid& id);
  void reopen(Time now);

  store::Store& store_;
  Session& session_;
  Options options_;
  Backoff backoff_;
  Time beat_at_{};
  Time glance_at_{};
  Time progress_at_{};
  std::atomic<bool> hurry_{false};
  std::atomic<std::int64_t> sessions_lost_{0};
};

}  // namespace hapax::engine
