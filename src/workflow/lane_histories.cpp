// Lanes: reads the journals and events of claimed runs from the store.
#include "workflow/lanes.hpp"

#include <hapax/error.hpp>

#include "model/unreadable.hpp"
#include "store/store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hapax::workflow {

RunState Lanes::make(engine::RunPtr run) {
  std::shared_ptr<const Function> function = options_.find(run->claim().task);
  if (!function) {
    trouble("workflow '" + run->claim().task + "' has no function here; given back");
    settle(run, engine::release_finish(*run));
    return nullptr;
  }
  return std::make_shared<detail::WorkflowRun>(detail::WorkflowRun::Options{.app = options_.app,
                                                                            .run = std::move(run),
                                                                            .function = std::move(function),
                                                                            .stacks = stacks_,
                                                                            .build = options_.build});
}

void Lanes::load(std::vector<RunState>& batch) {
  read_histories(batch);
  // If a session was lost before its outcomes were sent, a run in memory is ahead of its journal. Such a run begins
  // anew from the journal.
  std::vector<RunState> anew;
  for (RunState& state : batch) {
    if (!state->begun() || !state->replay().is_short()) { continue; }
    drop(state);
    if (RunState again = make(state->run())) { anew.push_back(std::move(again)); }
    state.reset();
  }
  std::erase(batch, nullptr);
  if (anew.empty()) { return; }
  read_histories(anew);
  std::ranges::move(anew, std::back_inserter(batch));
}

void Lanes::read_histories(std::vector<RunState>& batch) {
  std::vector<model::HistoryRequest> requests;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const model::Claim& claim = batch[i]->claim();
    // A run that is claimed for the first time has no journal yet, unless it is a fork.
    if (claim.fence == 1 && claim.inbox == 0 && !claim.labels.forked_from) { continue; }
    requests.push_back({.execution = claim.id,
                        .from_position = batch[i]->replay().recorded(),
                        .after_event = batch[i]->replay().seen()});
    places.push_back(i);
  }
  if (requests.empty()) { return; }
  std::vector<model::History> histories;
  try {
    histories = ask_histories(requests);
  } catch (const std::exception& error) {
    for (const RunState& state : batch) { give_back(state, error.what()); }
    batch.clear();
    return;
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    detail::WorkflowRun& state = *batch[places[i]];
    if (!histories[i].unreadable.empty()) {
      snooze(batch[places[i]], histories[i].unreadable);
      batch[places[i]].reset();
      continue;
    }
    state.replay().load(std::move(histories[i].entries), std::move(histories[i].events));
    if (state.begun()) { state.replay().skip_to_end(); }
  }
  std::erase(batch, nullptr);
}

std::vector<model::History> Lanes::ask_histories(std::span<const model::HistoryRequest> requests) {
  if (requests.size() == 1) { return {ask_history(requests.front())}; }
  try {
    return options_.app->store().histories(requests);
  } catch (const std::exception&) {
    std::vector<model::History> all;
    for (const model::HistoryRequest& request : requests) { all.push_back(ask_history(request)); }
    return all;
  }
}

model::History Lanes::ask_history(const model::HistoryRequest& request) {
  store::Store& store = options_.app->store();
  std::string why;
  for (int tries = 0; tries < 2; ++tries) {
    try {
      return std::move(store.histories({&request, 1}).front());
    } catch (const std::exception& error) { why = error.what(); }
    (void)store.outcomes({&request.execution, 1});  // throws when the store is away: then no journal is at fault
  }
  return {.entries = {}, .events = {}, .unreadable = std::move(why)};
}

}  // namespace hapax::workflow
