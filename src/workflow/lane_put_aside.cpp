// Lanes: leaves runs that cannot continue here to another build, parks them, snoozes them or gives them back.
#include "workflow/lanes.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/unreadable.hpp"
#include "store/store.hpp"

#include <algorithm>
#include <utility>

namespace hapax::workflow {

namespace {

// A run is left to other builds this often before it is parked: the same worker often claims a released run again.
constexpr int left_before_parking = 16;
constexpr std::size_t misfits_kept = 10'000;
// Time for a worker with the right encryption key to take the run, or for an operator to repair the row.
constexpr Duration unreadable_for = std::chrono::minutes(5);

}  // namespace

// During a rolling deploy another build may be able to continue the run, so the run is left to other builds for some
// seconds before it is parked. A parked run that is tried again is left to other builds again, as one that fits may
// have started meanwhile.
void Lanes::put_aside(const RunState& state) {
  const model::Claim& claim = state->claim();
  const bool another = another_build_is_there(claim);
  bool leave = false;
  bool parked = false;
  {
    const std::lock_guard lock(mutex_);
    if (misfits_.size() > misfits_kept) { misfits_.clear(); }
    Misfit& misfit = misfits_[claim.id];
    parked = misfit.parked;
    leave = another && misfit.left < left_before_parking;
    misfit.left = leave ? misfit.left + 1 : 0;
    misfit.parked = parked || !leave;
  }
  if (!leave) {
    trouble("workflow '" + state->name() + "' " + claim.id.to_string() + " is stuck: " + state->stuck_reason());
  }
  settle(state->run(), leave ? state->leave_finish(parked) : state->wait_finish());
}

bool Lanes::another_build_is_there(const model::Claim& claim) {
  try {
    const Time now = options_.app->store().now();
    const auto sessions = options_.app->store().sessions();
    return std::ranges::any_of(sessions, [&](const model::SessionInfo& session) {
      return session.build != options_.build && session.expires_at > now &&
             std::ranges::find(session.queues, claim.queue) != session.queues.end() &&
             std::ranges::find(session.tasks, claim.task) != session.tasks.end();
    });
  } catch (const std::exception&) { return false; }
}

void Lanes::give_back(const RunState& state, std::string_view why) {
  trouble("workflow '" + state->name() + "' " + state->claim().id.to_string() + " is given back: " + std::string(why));
  drop(state);
  settle(state->run(), engine::release_finish(*state->run()));
}

void Lanes::snooze(const RunState& state, std::string_view why) {
  trouble("workflow '" + state->name() + "' " + state->claim().id.to_string() + " is tried again in " +
          format_duration(unreadable_for) + ", as its journal cannot be read here: " + std::string(why));
  drop(state);
  model::Finish finish = engine::release_finish(*state->run());
  finish.kind = model::FinishKind::snoozed;
  finish.delay = unreadable_for;
  finish.error = model::ErrorInfo{
      .type = "JournalUnreadable", .message = base::keep_head(why, limits::error_message_bytes), .detail = ""};
  settle(state->run(), std::move(finish));
}

// Reads the cancellation event of a run that is cancelled while it runs; the store has the event by now.
void Lanes::refresh_cancel(const RunState& state) {
  if (state->replay().cancel() || state->replay().replaying()) { return; }
  const model::HistoryRequest request{.execution = state->claim().id,
                                      .from_position = state->replay().recorded(),
                                      .after_event = state->replay().seen()};
  try {
    auto histories = options_.app->store().histories({&request, 1});
    model::check_readable(histories.front());
    state->replay().load({}, std::move(histories.front().events));
  } catch (const std::exception& error) { trouble(error.what()); }
}

}  // namespace hapax::workflow
