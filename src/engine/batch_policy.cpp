#include "engine/batch_policy.hpp"

#include "base/plain_path.hpp"

#include <algorithm>

namespace hapax::engine {

namespace {

constexpr Duration gather_max = std::chrono::microseconds(200);
constexpr int fruitless_max = 64;

}  // namespace

BatchPolicy::Rules BatchPolicy::usual_rules() {
  static const Rules rules{.gather = !base::takes_plain_path("batch-gather"),
                           .burst = !base::takes_plain_path("batch-burst")};
  return rules;
}

Time BatchPolicy::wait_until(Leader leader, const WaitingBatch& waiting, Time now) {
  if (stage_ == Stage::none) {
    if (leader == Leader::caller) {
      begin_gathering(waiting.items, now);
    } else {
      stage_ = in_burst(waiting) && now < burst_until_ ? Stage::burst : Stage::over;
      until_ = burst_until_;
    }
  } else if (now >= until_ || enough(waiting)) {
    if (stage_ == Stage::gather) { end_gathering(waiting.items); }
    stage_ = Stage::over;
  }
  return stage_ == Stage::over ? now : until_;
}

bool BatchPolicy::enough(const WaitingBatch& waiting) const {
  if (stage_ == Stage::burst) { return !in_burst(waiting); }
  return stage_ != Stage::gather || waiting.items >= expected_;
}

// Whether a burst is still adding requests to the batch.
bool BatchPolicy::in_burst(const WaitingBatch& waiting) const {
  return options_.rules.burst && bursts_ > 0 && !waiting.closed && !waiting.has_caller;
}

void BatchPolicy::begin_gathering(std::size_t present, Time now) {
  stage_ = Stage::over;
  if (!options_.rules.gather) { return; }
  until_ = gather_until_;
  if (expected_ <= 1 || present >= expected_ || now >= until_) { return; }
  if (fruitless_left_ > 0) {
    --fruitless_left_;
    return;
  }
  stage_ = Stage::gather;
  present_ = present;
}

void BatchPolicy::end_gathering(std::size_t present) {
  if (2 * (present - present_) >= std::min(answered_, expected_ - present_)) {
    fruitless_ = 0;
    return;
  }
  fruitless_ = std::min(fruitless_max, 2 * fruitless_ + 4);
  fruitless_left_ = fruitless_;
}

void BatchPolicy::burst_began(Time now) {
  if (bursts_++ == 0) { burst_until_ = now + options_.burst_max; }
}

void BatchPolicy::ended(const BatchCall& call, const WaitingBatch& waiting) {
  answered_ = call.items;
  expected_ = std::min(options_.max_items, call.items + waiting.items);
  gather_until_ = call.ended + std::min((call.ended - call.began) / 4, gather_max);
}

}  // namespace hapax::engine
