// Feeds: the live changes of a namespace, for GET /v1/stream.
//
// While a feed has listeners, one thread reads the namespace about once a second, and at once when a change passes
// through this server: queues whose figures changed, the newest and the running executions, and executions seen before
// that have ended. Changes by other processes are found only by reading, so a change that is over between two reads, or
// a change of an execution that is neither new nor running, may be missed: a stream is for screens, not a complete log.
//
// Each event has a number. The last thousands are kept, so that a listener that comes back with its last event's number
// gets the events that it missed. Any thread.
#pragma once

#include "engine/engine.hpp"
#include "engine/step_thread.hpp"
#include "http/signal.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::api {

// One namespace's feed. Shared by its listeners and the looking thread.
class Feed {
 public:
  explicit Feed(std::string epoch) : epoch_(std::move(epoch)) {}

  // Returns the events after a place, as server-sent events of about 256 KiB at most, and the place where they end.
  struct Piece {
    std::string text;
    std::uint64_t next = 0;
  };
  [[nodiscard]] Piece after(std::uint64_t place) const;
  // Returns where a listener begins: after the event that it names if that event is still kept; else now, with `missed`
  // set.
  struct Start {
    std::uint64_t place = 0;
    bool missed = false;
  };
  [[nodiscard]] Start start(std::string_view last_event_id) const;

  void listen(const std::shared_ptr<http::Signal>& signal);
  void leave(const std::shared_ptr<http::Signal>& signal);
  [[nodiscard]] bool has_listeners() const;
  // True when the initial state has been read, so that later differences are changes.
  [[nodiscard]] bool has_initial_state() const { return has_initial_state_.load(); }

 private:
  friend class Feeds;
  struct Seen {
    std::string mark;  // the compared state
    bool is_over = false;
  };

  void add(std::string_view event, std::string_view json);
  void raise() const;

  const std::string epoch_;
  mutable std::mutex mutex_;
  std::deque<std::string> events_;  // guarded by mutex_, like the members below
  std::uint64_t first_ = 1;         // the number of events_.front()
  std::size_t bytes_ = 0;
  std::vector<std::shared_ptr<http::Signal>> listeners_;
  std::set<Uuid> touched_;
  std::atomic<bool> has_initial_state_{false};
  // Used by the looking thread only.
  Time refreshed_at_{};
  std::map<Uuid, Seen> known_;
  std::map<std::string, std::string> queues_;
};

class Feeds {
 public:
  explicit Feeds(engine::Engine& engine);
  Feeds(const Feeds&) = delete;
  Feeds& operator=(const Feeds&) = delete;
  ~Feeds();

  [[nodiscard]] std::shared_ptr<Feed> feed(const std::string& namespace_name);
  // Notes a change that passed through this server. Costs one atomic load when there are no feeds.
  void changed(const std::string& namespace_name, const Uuid& id);
  void queues_changed(const std::string& namespace_name);
  void stop();

 private:
  [[nodiscard]] Time step(Time now);
  void refresh(const std::string& namespace_name, Feed& feed);
  void compare_queues(const std::string& namespace_name, Feed& feed);
  void compare_execution(Feed& feed, const model::Execution& execution);

  engine::Engine& engine_;
  const std::string epoch_;
  std::atomic<int> count_{0};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Feed>> feeds_;  // guarded by mutex_
  std::unique_ptr<engine::StepThread> thread_;          // guarded by mutex_
  bool stopping_ = false;                               // guarded by mutex_
};

}  // namespace hapax::api
