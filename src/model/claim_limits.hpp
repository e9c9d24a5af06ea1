// The rules by which a queue with limits lets a claim start executions (decision 15). Every store asks them row by row,
// with the queue locked against other claims.
//
// The store offers the due executions in claim order. A queue-wide limit that is reached ends the claim of that queue.
// An execution that only its limit key holds back is parked: it is no longer among the due executions, so that no claim
// reads it twice. The execution becomes due again when one with its key ends or leaves its worker, or when the key's
// rate allows another start.
#pragma once

#include "model/rate.hpp"

#include <optional>

namespace hapax::model {

// The queue's load, counted by the store in the claiming transaction.
struct QueueLoad {
  std::int64_t running = 0;       // over all sessions
  std::int64_t running_here = 0;  // in the claiming session
  std::optional<Time> arrival;    // the rate limit's state (model/rate.hpp)
};

// The load of one limit key of the queue. ClaimLimits::offer adds each execution that it starts.
struct KeyLoad {
  std::int64_t running = 0;
  std::optional<Time> arrival;
};

// A live execution's limit key, as the store found it.
struct Keyed {
  KeyLoad* load = nullptr;
  bool ordered = false;
  bool first = true;  // of an ordered key: no live execution of the key has a lower sequence
};

// The sequence that a store gives an execution of an ordered key when it is claimed: it stays the key's head until it
// ends.
inline constexpr std::int64_t head_sequence = 0;

class ClaimLimits {
 public:
  // `idle`: how many executions the session could start at once. `limits` must outlive this object.
  ClaimLimits(const QueueLimits& limits, const QueueLoad& load, int idle, Time now);

  enum class Step : std::uint8_t {
    start,
    park,  // only the limit key holds the execution back
    stop,  // a queue-wide limit is reached
  };

  // Whether the queue's limits let any execution start now.
  [[nodiscard]] bool open() const { return room_ > 0 && (!rate_ || rate_->allows(1)); }
  // Decides about the next candidate. `key` is null for a candidate without a limit key. A start is counted at once,
  // also in the key's load.
  [[nodiscard]] Step offer(int weight, const Keyed* key);

  // The rate limit's state to store after the claim; none: nothing to store.
  [[nodiscard]] std::optional<Time> arrival() const;
  // If the rate limit ended the claim: how long until it allows the next start.
  [[nodiscard]] std::optional<Duration> wait() const { return wait_; }

 private:
  const QueueLimits& limits_;
  Time now_;
  std::int64_t room_;
  bool started_ = false;
  std::optional<RateMeter> rate_;
  std::optional<Duration> wait_;
};

// How many executions of one limit key may run at once.
[[nodiscard]] inline std::int64_t key_limit(const QueueLimits& limits, bool ordered) {
  return ordered ? 1 : limits.key_concurrency.value_or(1);
}

// The greatest weight that the key's rate lets start now; 0: none.
[[nodiscard]] int heaviest_start(const QueueLimits& limits, const KeyLoad& key, Time now);
// How long until the key's rate allows a start of that weight; none: it does now, or the queue has no key rate.
[[nodiscard]] std::optional<Duration> key_wait(const QueueLimits& limits, const KeyLoad& key, int weight, Time now);

// How many parked executions of an unordered key are considered for becoming due again, which stores do when an
// execution of the key ends or leaves its worker, or when the key's rate may allow the next start. The rules: - Ordered
// key: the first parked execution, if no live one has a lower sequence. - Unordered key: the first of each task among
// these 50, because perhaps no worker serves the task of the very first. An execution stays parked if as many due
// executions of its task precede it as the key has room for. - Key rate, at a claim: only executions whose weight the
// rate allows now, and none if the rate does not allow the first. Any other execution would only be parked again.
inline constexpr int parked_considered_max = 50;

// The stored form of limits, one JSON object; an empty text stands for no limits.
[[nodiscard]] std::string encode_limits(const QueueLimits& limits);
[[nodiscard]] QueueLimits decode_limits(std::string_view text);

// The stored form of a limit key: "o:…" for an ordering key, "c:…" for a concurrency key.
[[nodiscard]] std::string encode_limit_key(const LimitKey& key);
[[nodiscard]] LimitKey decode_limit_key(std::string_view text);

}  // namespace hapax::model
