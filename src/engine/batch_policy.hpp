// BatchPolicy: decides when waiting requests go to the store. A BatchPolicy has no threads and no clock: the Batcher
// reports each call and the time, and asks for the next decision.
//
// The plain policy: one call at a time; all requests that came during a call go together in the next one, at once.
// The rules below only make the plain policy faster, and each can be switched off (base/plain_path.hpp):
//
// | rule         | a call waits for                              | at most                           | why
// |--------------|-----------------------------------------------|-----------------------------------|-----
// | gather       | blocking callers that the last call answered  | a quarter of that call and 200 us | 1
// | burst        | requests that were announced (Batcher::Burst) | burst_max                         | 2
//
// 1. Callers in a loop would split into two halves, one waiting while the other's call is under way. Eight callers that
//    wait for each other share every sync, not every second one.
// 2. A worker publishes many results at once, and each of them may be followed by a request.
//
// When fewer than half of the expected callers come back during a wait, the next leaders do not wait.
#pragma once

#include <hapax/time.hpp>

#include <cstddef>
#include <cstdint>

namespace hapax::engine {

// The requests of the next call.
struct WaitingBatch {
  std::size_t items = 0;    // 0: no request waits
  bool has_caller = false;  // one of the requests has a blocking caller, whose thread makes the call
  bool closed = false;      // no more requests can join: another batch waits behind this one
};

// A call that has ended.
struct BatchCall {
  std::size_t items = 0;
  Time began{};
  Time ended{};
};

class BatchPolicy {
 public:
  struct Rules {
    bool gather = true;
    bool burst = true;
  };
  // Returns all rules except the ones that HAPAX_PLAIN_PATHS names.
  [[nodiscard]] static Rules usual_rules();

  struct Options {
    std::size_t max_items = 1000;
    Duration burst_max = std::chrono::milliseconds(1);
    Rules rules = usual_rules();
  };

  // The thread that makes the next call: a blocking caller's or the background thread.
  enum class Leader : std::uint8_t { caller, background };

  explicit BatchPolicy(Options options) : options_(options) {}

  // Returns until when the leader waits; `now` or earlier: the leader makes the call now. The leader asks again at that
  // time, or as soon as enough() is true.
  [[nodiscard]] Time wait_until(Leader leader, const WaitingBatch& waiting, Time now);
  // Whether a leader that waits may stop waiting before its time.
  [[nodiscard]] bool enough(const WaitingBatch& waiting) const;
  // How many requests the next call probably has.
  [[nodiscard]] std::size_t expected() const { return expected_; }

  void burst_began(Time now);
  void burst_ended() { --bursts_; }
  // A call began.
  void began() { stage_ = Stage::none; }
  // That call ended; `waiting`: the requests that came meanwhile.
  void ended(const BatchCall& call, const WaitingBatch& waiting);

 private:
  // How far the leader of the next call has come.
  enum class Stage : std::uint8_t { none, burst, gather, over };

  [[nodiscard]] bool in_burst(const WaitingBatch& waiting) const;
  void begin_gathering(std::size_t present, Time now);
  void end_gathering(std::size_t present);

  Options options_;
  int bursts_ = 0;
  Time burst_until_{};
  // The next call's leader.
  Stage stage_ = Stage::none;
  Time until_{};
  std::size_t present_ = 0;  // requests when it began to gather
  // The last call.
  std::size_t answered_ = 0;  // its requests
  std::size_t expected_ = 0;  // answered_ and the requests that waited when the call ended
  Time gather_until_{};
  int fruitless_ = 0;  // how many leaders do not wait after one has waited in vain
  int fruitless_left_ = 0;
};

}  // namespace hapax::engine
