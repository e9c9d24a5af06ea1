// Dispatcher: plans claims, and hands what was claimed to the pools.
#include "engine/dispatcher.hpp"

#include "base/limits.hpp"
#include "base/plain_path.hpp"
#include "engine/prefetch.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

namespace hapax::engine {

namespace {

constexpr Duration idle_wait_min = std::chrono::milliseconds(50);
// With the sweeper's interval, this keeps a lost execution from waiting longer than 1 s after its lease.
constexpr Duration idle_wait_max = std::chrono::milliseconds(400);
// Claims that follow each other faster leave questions out: looking into a second, mostly empty queue costs extra.
constexpr Duration questions_interval = std::chrono::milliseconds(20);

}  // namespace

int Dispatcher::wanted(const PoolLoad& load) const {
  const int target = prefetch_target({load.threads, load.runs_per_second, options_.prefetch});
  const int held = load.queued + load.running;
  const int room = std::min(target - held, limits::claim_batch);
  // Each claim costs a round trip: wait for room for a quarter of the target, unless threads may run out of work.
  const bool worth = room >= std::max(1, target / 4) || load.queued < load.threads;
  return room > 0 && worth ? room : 0;
}

Dispatcher::Plan Dispatcher::plan(Time now) {
  no_room_ = false;
  if (draining_.load() || suspect_ || !session_.is_open()) { return {}; }
  const std::int64_t hint = hint_us_.exchange(INT64_MAX);
  if (hint != INT64_MAX) { claim_at_ = std::min(claim_at_, Time(Duration(hint))); }
  // An outcome in a queue with limits makes room for that queue's next execution at once.
  const bool made_room = std::ranges::any_of(pending_, [](const Settled& one) { return one.run->claim().limited; });
  const bool due = made_room || now >= claim_at_;
  const int flows = options_.workflows == nullptr ? 0 : options_.workflows->active();
  const bool empty_handed = load_.queued + load_.running + flows == 0;
  if (suspects_due_) {
    if (empty_handed || now - suspects_since_ >= suspects_patience) { return {.limit = 1, .alone = true}; }
    return {};
  }
  if (!due && !more_tasks_ && !more_workflows_) { return {}; }
  return plan_kinds(due, empty_handed);
}

// A claim of both kinds may return any mix of them, so its limit is the smaller room of the two. With few threads for
// tasks and room for a thousand workflows, workflows would be claimed two at a time. So after a full claim of both
// kinds, tasks and workflows are claimed in turn, each up to its own room, until neither has more.
Dispatcher::Plan Dispatcher::plan_kinds(bool due, bool alone) {
  int tasks = wanted(load_);
  int workflows = 0;
  if (options_.workflows != nullptr) {
    workflows = std::min(options_.workflows->room(), limits::claim_batch);
    if (names({.tasks = true, .workflows = false}).empty()) { tasks = 0; }
    if (names({.tasks = false, .workflows = true}).empty()) { workflows = 0; }
    // A kind that is due and has no room is claimed as soon as there is room.
    if (due && tasks == 0) { more_tasks_ = true; }
    if (due && workflows == 0) { more_workflows_ = true; }
  }
  no_room_ = tasks == 0 && workflows == 0;
  Plan plan{.limit = 0,
            .alone = alone,
            .tasks = tasks > 0 && (due || more_tasks_),
            .workflows = workflows > 0 && (due || more_workflows_)};
  if (plan.tasks && plan.workflows && more_tasks_ && more_workflows_) {
    tasks_next_ = !tasks_next_;
    (tasks_next_ ? plan.workflows : plan.tasks) = false;
  }
  if (plan.tasks && plan.workflows) {
    plan.limit = std::min(tasks, workflows);
  } else if (plan.tasks || plan.workflows) {
    plan.limit = plan.tasks ? tasks : workflows;
  }
  return plan;
}

// Returns the task and workflow names to claim; empty: any task. A worker with workflows always names what it claims.
std::vector<std::string> Dispatcher::names(const Plan& plan) {
  std::vector<std::string> all;
  {
    const std::lock_guard lock(tasks_mutex_);
    all = tasks_;
  }
  if (options_.workflows == nullptr || (plan.tasks && plan.workflows)) { return all; }
  const std::vector<std::string> flows = options_.workflows->names();
  std::erase_if(all, [&](const std::string& name) {
    const bool is_flow = std::ranges::find(flows, name) != flows.end();
    return is_flow ? !plan.workflows : !plan.tasks;
  });
  return all;
}

model::ClaimRequest Dispatcher::claim_request(const Plan& plan, const ClaimTicket& ticket, Time now) {
  model::ClaimRequest request;
  request.session = ticket.session;
  request.claim_number = ticket.number;
  request.queues = options_.queues;
  std::ranges::rotate(request.queues,
                      request.queues.begin() + static_cast<std::ptrdiff_t>(rotation_++ % request.queues.size()));
  request.tasks = names(plan);
  request.limit = plan.limit;
  request.idle = std::max(0, load_.threads - load_.queued - load_.running);
  request.alone = plan.alone;
  questions_left_ = false;
  if (plan.workflows && options_.questions) { add_questions(request, now); }
  return request;
}

// Questions go first, so that no backlog in the worker's queues delays them.
void Dispatcher::add_questions(model::ClaimRequest& request, Time now) {
  static const bool plain = base::takes_plain_path("engine-questions");
  questions_left_ = !plain && now < questions_at_;
  if (questions_left_) { return; }
  questions_at_ = now + questions_interval;
  request.queues.insert(request.queues.begin(), *options_.questions);
  std::ranges::move(options_.workflows->questions(), std::back_inserter(request.tasks));
}

// `received` is measured after the answer: a workflow's clock counts from the claim's time and must not run ahead of
// the store's clock.
void Dispatcher::claimed(model::ClaimReply reply, const ClaimTicket& ticket, const Plan& plan, Time now,
                         Time received) {
  std::vector<RunPtr> runs;
  runs.reserve(reply.claims.size());
  for (model::Claim& claim : reply.claims) {
    RunPtr run = std::make_shared<Run>(std::move(claim));
    run->received = received;
    if (options_.observations != nullptr) { options_.observations->trace(*run); }
    runs.push_back(std::move(run));
  }
  reply.claims.clear();
  if (!session_.settle(ticket, runs)) { return; }
  if (options_.observations != nullptr) { options_.observations->claimed(runs, received - now); }
  const bool full = static_cast<int>(runs.size()) >= plan.limit;
  if (plan.alone && !runs.empty() && runs.front()->claim().lost > 0) {
    suspect_ = runs.front();
    suspect_since_ = now;
  }
  if (plan.tasks) { more_tasks_ = full; }
  if (plan.workflows) { more_workflows_ = full; }
  if (!runs.empty()) { idle_wait_ = Duration::zero(); }
  hand_out(std::move(runs));
  plan_next_claim(reply, plan, now);
}

void Dispatcher::hand_out(std::vector<RunPtr> runs) {
  if (options_.workflows != nullptr) {
    const auto workflows = std::ranges::stable_partition(
        runs, [](const RunPtr& run) { return run->claim().kind != model::Kind::workflow; });
    if (!workflows.empty()) {
      options_.workflows->submit({std::make_move_iterator(workflows.begin()), std::make_move_iterator(runs.end())});
      runs.erase(workflows.begin(), runs.end());
    }
  }
  pool_.submit(std::move(runs));
}

void Dispatcher::plan_next_claim(const model::ClaimReply& reply, const Plan& plan, Time now) {
  if (reply.suspects_due && !suspects_due_) { suspects_since_ = now; }
  suspects_due_ = reply.suspects_due;
  if (plan.alone && !suspect_) { suspects_due_ = false; }
  idle_wait_ = std::clamp(idle_wait_ * 2, idle_wait_min, idle_wait_max);
  claim_at_ = now + (reply.next_due ? std::clamp(*reply.next_due, Duration::zero(), idle_wait_) : idle_wait_);
  // The wakeup may have been for a question that this claim left out.
  if (questions_left_) { claim_at_ = std::min(claim_at_, questions_at_); }
}

}  // namespace hapax::engine
