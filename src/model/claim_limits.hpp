// What a queue with limits lets a claim start (SPEC D12, D13, P6): the rules that all stores ask, row by row, with the
// queue locked against other claims.
//
// A store offers the due executions in claim order. A queue-wide limit that is reached ends the claim of that queue. An
// execution that only its key holds back is parked: it leaves the line of due ones, so that no claim walks over it twice,
// and comes back when one of its key ends or leaves the worker, or the key's rate allows the next.
#pragma once

#include "model/rate.hpp"

#include <optional>

namespace hapax::model {

// What the store counted in the claiming transaction.
struct QueueLoad {
  std::int64_t running = 0;       // of the queue, over all sessions
  std::int64_t running_here = 0;  // of the queue, in the claiming session
  std::optional<Time> arrival;    // the rate limit's state
};

// One limit key of the queue. The claim counts what it starts itself.
struct KeyLoad {
  std::int64_t running = 0;
  std::optional<Time> arrival;
};

// A live execution's limit key, as the store found it.
struct Keyed {
  KeyLoad* load = nullptr;
  bool ordered = false;
  bool first = true;  // of an ordered key: no live one has a lower sequence
};

// What a store gives an execution of an ordered key as sequence when it is claimed: it is the head until it ends.
inline constexpr std::int64_t head_sequence = 0;

class ClaimLimits {
 public:
  // `idle`: how many the session could start at once.
  ClaimLimits(const QueueLimits& limits, const QueueLoad& load, int idle, Time now);

  enum class Step : std::uint8_t {
    start,
    park,  // its key holds it back
    stop,  // the queue holds everything back
  };

  // Whether the queue lets anything start at all.
  [[nodiscard]] bool open() const { return room_ > 0 && (!rate_ || rate_->allows(1)); }
  // `key` is null for a candidate without a limit key. Starting is counted at once, in the key's load too.
  [[nodiscard]] Step offer(int weight, const Keyed* key);

  // The state of the queue's rate limit after what was started; none: nothing to store.
  [[nodiscard]] std::optional<Time> arrival() const;
  // The rate limit ended the claim: when the next start is allowed.
  [[nodiscard]] std::optional<Duration> wait() const { return wait_; }

 private:
  const QueueLimits& limits_;
  Time now_;
  std::int64_t room_;
  bool started_ = false;
  std::optional<RateMeter> rate_;
  std::optional<Duration> wait_;
};

// How many of an unordered key may run at once.
[[nodiscard]] inline std::int64_t key_limit(const QueueLimits& limits, bool ordered) {
  return ordered ? 1 : limits.key_concurrency.value_or(1);
}

// The heaviest one that the key's rate lets start now; 0: none.
[[nodiscard]] int heaviest_start(const QueueLimits& limits, const KeyLoad& key, Time now);
// When the key's rate allows a start of that weight; none: the queue has no such limit, or it is now.
[[nodiscard]] std::optional<Duration> key_wait(const QueueLimits& limits, const KeyLoad& key, int weight, Time now);

// Which parked ones go back into the line, when one of their key ends or leaves its worker, or the key's rate may allow
// the next. Of an ordered key the first, if no live one has a lower sequence. Of another key the first of each task among
// so many, as nobody may serve the first one's task; but not one before which as many of its task stand in the line as
// the key has room for. With a key rate, at a claim, only while the rate allows the first and that one itself: what would
// only be parked again stays where it is.
inline constexpr int parked_look = 50;

// Limits as one JSON object, as they are stored; an empty text stands for none of them.
[[nodiscard]] std::string encode_limits(const QueueLimits& limits);
[[nodiscard]] QueueLimits decode_limits(std::string_view text);

// A limit key as one text, "o:…" for an ordered one and "c:…" for the other.
[[nodiscard]] std::string encode_limit_key(const LimitKey& key);
[[nodiscard]] LimitKey decode_limit_key(std::string_view text);

}  // namespace hapax::model
