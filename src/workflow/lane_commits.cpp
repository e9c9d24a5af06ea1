// Lanes: writes to the store: new entries of several runs in one call, a run's outcome, a run's wait.
#include "workflow/lanes.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"
#include "engine/engine.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hapax::workflow {

void Lanes::flush(std::vector<RunState>& batch) {
  // Runs with nothing to store only have a step's body to run, after the entries of the other runs are stored.
  const auto mute =
      std::ranges::stable_partition(batch, [](const RunState& state) { return state->replay().needs_flush(); });
  std::vector<RunState> later(std::make_move_iterator(mute.begin()), std::make_move_iterator(mute.end()));
  batch.erase(mute.begin(), mute.end());
  send(batch);
  std::ranges::move(later, std::back_inserter(batch));
}

void Lanes::send(std::vector<RunState>& batch) {
  if (batch.empty()) { return; }
  std::vector<model::Advance> turns;
  turns.reserve(batch.size());
  for (const RunState& state : batch) {
    const model::Claim& claim = state->claim();
    turns.push_back({.execution = claim.id,
                     .fence = claim.fence,
                     .entries = state->replay().fresh(),
                     .clears_lost = claim.lost > 0});
  }
  std::vector<model::AdvanceReply> replies;
  try {
    base::fault_point("workflow.advance.before");
    replies = options_.app->engine().advance(std::move(turns));
    base::fault_point("workflow.advance.after");
  } catch (const std::exception& error) {
    // The store may or may not have kept the entries, so the next claim reads them from the journal.
    for (const RunState& state : batch) { give_back(state, error.what()); }
    batch.clear();
    return;
  }
  std::vector<RunState> going;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (replies[i].verdict == model::FinishVerdict::accepted) {
      batch[i]->replay().kept(replies[i].at);
      going.push_back(std::move(batch[i]));
    } else {
      release(batch[i]);
    }
  }
  batch = std::move(going);
}

void Lanes::end(const RunState& state) {
  const std::vector<Uuid> children = state->children_to_cancel();
  if (!children.empty() && !state->is_continued()) {
    std::vector<RunState> one{state};
    if (state->replay().needs_flush()) { flush(one); }
    if (one.empty()) { return; }
    try {
      workflow::cancel_children(options_.app->store(), state->claim(), children);
    } catch (const std::exception& error) {
      give_back(state, error.what());
      return;
    }
  }
  settle(state->run(), state->finish());
}

void Lanes::wait(const LanePtr& lane, const RunState& state) {
  const engine::RunPtr run = state->run();  // once the state is in the cache, a new claim may replace its run
  model::Finish finish = state->wait_finish();
  state->replay().forget_fresh();
  std::vector<RunState> mine;
  if (is_stopped(*run)) {
    mine.push_back(state);
  } else {
    const std::lock_guard lock(mutex_);
    const Uuid id = run->claim().id;
    // The cached state belongs to an earlier claim, whose session was lost.
    if (const auto old = cache_.find(id); old != cache_.end()) {
      old->second.lane->discard.push_back(std::move(old->second.state));
      old->second.lane->work.notify_one();
      ages_.erase(old->second.age);
      cache_.erase(old);
    }
    ages_.push_back(id);
    cache_.emplace(id, Cached{state, lane, std::prev(ages_.end())});
    trim(lane, mine);
  }
  for (const RunState& old : mine) { drop(old); }
  // settle() comes last: after it the run may be claimed again at any moment.
  settle(run, std::move(finish));
}

// Evicts runs beyond the limit, the longest unused first. The caller holds mutex_. Runs of this lane go to `mine`, runs
// of other lanes to their Lane::discard. A run that waits inside a catch block stays, because unwinding would run the
// rest of the block.
void Lanes::trim(const LanePtr& lane, std::vector<RunState>& mine) {
  auto next = ages_.begin();
  while (cache_.size() > static_cast<std::size_t>(options_.cached) && next != ages_.end()) {
    const auto cached = cache_.find(*next);
    if (cached->second.state->in_catch()) {
      ++next;
      continue;
    }
    const LanePtr owner = cached->second.lane;
    (owner == lane ? mine : owner->discard).push_back(std::move(cached->second.state));
    if (owner != lane) { owner->work.notify_one(); }
    cache_.erase(cached);
    next = ages_.erase(next);
  }
}

}  // namespace hapax::workflow
