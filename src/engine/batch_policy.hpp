// BatchPolicy: decides when waiting requests go to the store. A BatchPolicy has no threads and no clock: the Batcher
// reports each call and the time, and asks for the next decision.
//
// The plain policy: one call at a time; all requests that came during a call go together in the next one, at once.
// The rules below only make the plain policy faster, and each can be switched off (base/plain_path.hpp):
//
// | rule         | a call waits for, or goes                     | at most                           | why
// |--------------|-----------------------------------------------|-----------------------------------|-----
// | gather       | blocking callers that the last call answered  | a quarter of that call and 200 us | 1
// | gather_async | asynchronous callers, if the last call mostly | the time that call waited, 1 ms   | 2
// |              | waited for a disk or another machine          |                                   |
// | burst        | requests that were announced (Batcher::Burst) | burst_max                         | 3
// | second_call  | beside the call under way, with asynchronous  | 2 calls under way                 | 4
// |              | requests of a quarter of the recent callers   |                                   |
//
// 1. Callers in a loop would split into two halves, one waiting while the other's call is under way. Eight callers that
//    wait for each other share every sync, not every second one.
// 2. Answers of asynchronous callers (a server's connections) travel over the network, so these callers come back
//    later. After a call that mostly used the processor the leader does not wait for them: the next call would not wait
//    as long again.
// 3. A worker publishes many results at once, and each of them may be followed by a request.
// 4. Without a second call, half of the connections would wait for the other half. Blocking callers all come back before
//    the next call, so one call for all of them is better. A second call needs a store that serves two calls at once.
//
// When fewer than half of the expected callers come back during a wait, the next leaders do not wait. After a failed
// batch calls go one at a time for a while, because two calls for the same identity would block each other.
#pragma once

#include <hapax/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace hapax::engine {

// The requests of the next call.
struct WaitingBatch {
  std::size_t items = 0;      // 0: no request waits
  bool has_caller = false;    // one of the requests has a blocking caller, whose thread makes the call
  bool only_in_turn = false;  // may not go beside another call
  bool closed = false;        // no more requests can join: another batch waits behind this one
};

// A call that has ended.
struct BatchCall {
  std::size_t items = 0;
  Time began{};
  Time ended{};
  std::optional<Duration> processor{};  // processor time of the call; none: a blocking caller's thread made it
  bool failed = false;                  // the requests now go one by one
};

class BatchPolicy {
 public:
  struct Rules {
    bool gather = true;
    bool gather_async = true;
    bool burst = true;
    bool second_call = true;
  };
  // Returns all rules except the ones that HAPAX_PLAIN_PATHS names.
  [[nodiscard]] static Rules usual_rules();

  struct Options {
    bool two_calls = false;  // the store serves two calls at once
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
  // Whether the waiting requests make a second call now, beside the call under way.
  [[nodiscard]] bool goes_beside(const WaitingBatch& waiting, Time now) const;
  // How many requests the next call probably has.
  [[nodiscard]] std::size_t expected() const { return expected_; }

  void burst_began(Time now);
  void burst_ended() { --bursts_; }
  // A call began, in turn or beside the one under way.
  void began(std::size_t items);
  void began_beside(std::size_t items) { beside_ = items; }
  // A call ended; `waiting`: the requests that came meanwhile.
  void ended(const BatchCall& call, const WaitingBatch& waiting);
  void ended_beside(const BatchCall& call, const WaitingBatch& waiting);

 private:
  // How far the leader of the next call has come.
  enum class Stage : std::uint8_t { none, burst, gather, over };

  [[nodiscard]] bool in_burst(const WaitingBatch& waiting) const;
  void begin_gathering(Leader leader, std::size_t present, Time now);
  void end_gathering(std::size_t present);
  void count_callers(std::size_t answered, const WaitingBatch& waiting);

  Options options_;
  int bursts_ = 0;
  Time burst_until_{};
  // The next call's leader.
  Stage stage_ = Stage::none;
  Leader leader_ = Leader::caller;
  Time until_{};
  std::size_t wanted_ = 0;   // the number of requests that the leader gathers
  std::size_t present_ = 0;  // the number of requests when the leader began to gather
  // The last call.
  std::size_t answered_ = 0;  // its requests
  std::size_t expected_ = 0;  // answered_ and the requests that waited when the call ended
  Time gather_until_{};
  Time gather_async_until_{};
  int fruitless_ = 0;  // how many leaders do not wait after one has waited in vain
  int fruitless_left_ = 0;
  // The calls under way.
  std::size_t under_way_ = 0;
  std::size_t beside_ = 0;
  std::size_t population_ = 0;    // recent callers, answered or waiting
  std::size_t worth_a_call_ = 2;  // requests that make a second call worth it
  int one_at_a_time_ = 0;         // calls until a second one is allowed again
};

}  // namespace hapax::engine
