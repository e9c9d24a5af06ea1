#include "schedule/tick.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "model/identity.hpp"
#include "schedule/overlap.hpp"

#include <algorithm>

namespace hapax::schedule {

namespace {

constexpr Duration postponed_for = std::chrono::seconds(5);
constexpr std::size_t change_bytes = 16 << 20;

bool may_overlap(const Activity& activity) {
  const CronTrigger* const cron = activity.cron();
  return cron == nullptr || cron->overlap == Overlap::allow;
}

class Turn {
 public:
  Turn(const model::DueActivity& due, const Activity& activity, const TickContext& context)
      : due_(due), activity_(activity), context_(context) {
    overlap_.running = !due.live.empty();
    overlap_.waiting = std::max(0, static_cast<int>(due.live.size()) - 1);
    change_.namespace_name = due.state.namespace_name;
    change_.id = due.state.id;
    change_.revision = due.state.revision;
  }

  void add(const Tick& tick) {
    switch (admit_tick(activity_.cron()->overlap, overlap_)) {
      case OverlapAction::start:
      case OverlapAction::wait: start(tick); break;
      case OverlapAction::drop: ++change_.add.overlapped; break;
      case OverlapAction::cancel_and_wait: {
        take_back();
        change_.cancel = due_.live;
        start(tick);
        break;
      }
      case OverlapAction::terminate_and_start: {
        take_back();
        change_.terminate = due_.live;
        start(tick);
        break;
      }
    }
  }

  [[nodiscard]] model::ActivityChange done(const Plan& plan) {
    change_.schedule = {.cursor = plan.cursor, .next_due = plan.next};
    change_.add.missed += plan.dropped;
    return std::move(change_);
  }

 private:
  void start(const Tick& tick) {
    try {
      RunRequests run = run_requests(activity_, TickReason{.tick = tick},
                                     {.namespace_name = due_.state.namespace_name,
                                      .catalogue = context_.catalogue,
                                      .last_result = due_.last_result,
                                      .parent = {}},
                                     context_.new_id);
      std::ranges::move(run.requests, std::back_inserter(change_.admit));
      ++runs_;
    } catch (const Error& error) {
      ++change_.add.refused;
      change_.trouble = trouble_of(error);
    }
  }

  // Drops the runs that this change would start, because the next tick would end them at once.
  void take_back() {
    change_.admit.clear();
    change_.add.overlapped += runs_;
    runs_ = 0;
  }

  const model::DueActivity& due_;
  const Activity& activity_;
  const TickContext& context_;
  OverlapState overlap_;
  model::ActivityChange change_;
  std::int64_t runs_ = 0;
};

}  // namespace

std::string trouble_of(const std::exception& error) {
  const auto* const named = dynamic_cast<const Error*>(&error);
  return named != nullptr ? named->name() + ": " + named->what() : std::string(error.what());
}

int most_runs(const Activity& activity, const std::optional<std::string>& last_result) {
  const std::size_t executions = 1 + activity.tasks.size();
  std::size_t bytes = executions * (1024 + (last_result ? last_result->size() : 0)) + activity.input.json().size();
  for (const TaskInstance& task : activity.tasks) { bytes += task.input.json().size(); }
  const std::size_t fit = std::min(static_cast<std::size_t>(limits::bulk_batch) / executions, change_bytes / bytes);
  return std::clamp(static_cast<int>(fit), 1, limits::ticks_at_once);
}

RunRequests run_requests(const Activity& activity, const Reason& reason, const FiringContext& context,
                         const NewId& new_id) {
  ActivityRun run = fire(activity, reason, context);
  for (model::NewExecution& request : run.requests) {
    request.id = new_id();
    request.parent = run.requests.front().id;
  }
  model::NewExecution& target = run.requests.front();
  target.parent = context.parent ? *context.parent : model::activity_uuid(context.namespace_name, activity.id);
  if (!may_overlap(activity)) { target.limit_key = {.text = "activity:" + activity.id, .ordered = true}; }
  return {.run_id = std::move(run.id), .requests = std::move(run.requests)};
}

model::ActivityChange tick_change(const model::DueActivity& due, const Activity& activity, const TickContext& context) {
  const CronTrigger* const cron = activity.cron();
  if (cron == nullptr) { throw InvalidArgument("trigger", "activity '" + activity.id + "' has no ticks"); }
  const Plan plan = schedule::plan(*cron, {.activity_id = activity.id,
                                           .cursor = due.state.cursor,
                                           .now = context.now,
                                           .paused = due.state.paused,
                                           .most = most_runs(activity, due.last_result)});
  Turn turn(due, activity, context);
  for (const Tick& each : plan.runs) { turn.add(each); }
  return turn.done(plan);
}

model::ActivityChange postpone(const model::DueActivity& due, Time now, const std::string& trouble) {
  model::ActivityChange change;
  change.namespace_name = due.state.namespace_name;
  change.id = due.state.id;
  change.revision = due.state.revision;
  change.schedule = {.cursor = due.state.cursor, .next_due = now + postponed_for};
  change.trouble = trouble;
  return change;
}

}  // namespace hapax::schedule
