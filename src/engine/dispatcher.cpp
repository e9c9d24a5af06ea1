#include "engine/dispatcher.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"
#include "base/limits.hpp"
#include "engine/prefetch.hpp"
#include "engine/step_thread.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace hapax::engine {

namespace {

constexpr Duration idle_wait_min = std::chrono::milliseconds(50);
// With the sweeper's interval, this keeps a lost execution from waiting longer than 1 s after its lease.
constexpr Duration idle_wait_max = std::chrono::milliseconds(400);
// How long executions that were lost before wait for the worker to be empty; then they run beside others.
constexpr Duration suspects_patience = std::chrono::seconds(5);
// How long such an execution keeps the worker to itself. A handler that ends its process mostly does so early.
constexpr Duration suspect_alone_max = std::chrono::seconds(60);
// Runs that have waited this long behind slow handlers are released for other workers.
constexpr Duration unstarted_max = std::chrono::seconds(1);
constexpr Duration busy_look = std::chrono::milliseconds(5);
constexpr Duration calm_look = std::chrono::milliseconds(100);
constexpr Duration flow_look = std::chrono::milliseconds(20);
// Claims that follow each other faster leave questions out: looking into a second, mostly empty queue costs extra.
constexpr Duration questions_look = std::chrono::milliseconds(20);
constexpr std::size_t finish_bytes = 16 << 20;
constexpr std::size_t worth_halving = 16;
constexpr std::ptrdiff_t crowd_min = 8;
constexpr Duration crowd_lately = std::chrono::milliseconds(10);
constexpr Duration company_wait_max = std::chrono::milliseconds(1);
constexpr double quick_rate = 1000;  // runs a second per thread; above this, threads take runs in chunks

// A workflow that only waits does not count: no caller waits for that outcome.
bool is_ended_workflow(const Settled& settled) {
  return settled.run->claim().kind == model::Kind::workflow &&
         !(settled.finish && settled.finish->kind == model::FinishKind::waiting);
}

}  // namespace

Duration Backoff::next() {
  const Duration delay =
      std::min<Duration>(std::chrono::milliseconds(50) * (1 << std::min(failures_, 7)), std::chrono::seconds(5));
  ++failures_;
  return delay;
}

Dispatcher::Dispatcher(store::Store& store, Session& session, RunPool& pool, Options options)
    : store_(store),
      session_(session),
      pool_(pool),
      options_(std::move(options)),
      more_workflows_(options_.workflows != nullptr),
      tasks_(options_.tasks) {}

Time Dispatcher::step(Time now) {
  now_ = now;
  collect(now);
  pool_.rebalance(now);
  load_ = pool_.load();
  if (now < retry_at_) { return retry_at_; }
  if (!held_up_.empty() && now >= held_up_at_) { send_one_by_one(std::exchange(held_up_, {})); }
  if (draining_.load() || (load_.oldest_queued && now - *load_.oldest_queued > unstarted_max)) { release_unstarted(); }
  // Each step sends at most one batch, so another step follows while something is left.
  const Plan next = plan(now);
  if (next.limit == 0 && waits_for_company(now)) { return std::min(company_until_, next_step(now)); }
  if (!pending_.empty() || next.limit > 0) {
    const bool sent = exchange(next, now);
    exclusive_.store(suspect_ || suspects_due_);
    if (!sent) {
      retry_at_ = now + backoff_.next();
      return retry_at_;
    }
    if (!pending_.empty() || (next.limit > 0 && (more_tasks_ || more_workflows_))) { return now; }
  }
  return next_step(now);
}

void Dispatcher::collect(Time now) {
  pool_.collect(pending_);
  if (options_.workflows != nullptr) {
    options_.workflows->collect(pending_);
    options_.workflows->look(now);
  }
  // The store would refuse outcomes of a lost session.
  const auto is_lost = [](const Settled& settled) { return settled.run->stop_reason() == StopReason::lease_lost; };
  std::erase_if(pending_, is_lost);
  std::erase_if(held_up_, is_lost);
  note_unsent();
  if (suspect_ && (suspect_->state() == Run::State::settling || now - suspect_since_ > suspect_alone_max)) {
    suspect_.reset();
    more_tasks_ = true;
    more_workflows_ = options_.workflows != nullptr;
  }
}

int Dispatcher::wanted(const PoolLoad& load) const {
  const int target = prefetch_target({load.threads, load.runs_per_second, options_.prefetch});
  const int held = load.queued + load.running;
  const int room = std::min(target - held, limits::claim_batch);
  // Small claims cost a round trip each: wait for room worth a quarter of the target, unless threads may run dry.
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
// tasks and room for a thousand workflows, workflows would be claimed by twos. So after such a claim was full, tasks
// and workflows are claimed in turn, each up to its own room, until neither has more.
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

// The names to claim; empty: any task. A worker with workflows always names what it claims.
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

// Questions go first, so that no backlog in the worker's queues delays them.
void Dispatcher::add_questions(model::ClaimRequest& request, Time now) {
  questions_left_ = now < questions_at_;
  if (questions_left_) { return; }
  questions_at_ = now + questions_look;
  request.queues.insert(request.queues.begin(), *options_.questions);
  std::ranges::move(options_.workflows->questions(), std::back_inserter(request.tasks));
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

// Whether the outcomes of a few workflows wait for more, at most 1 ms: most workflows are still under way, and many
// ended together within the last 10 ms. Sent at once, the few would stay a group of their own, a little before or
// behind the others, and cost as many calls again. One or several such delays merge them into the large group. On a
// remote store the few do not wait: there two groups are better than one.
bool Dispatcher::waits_for_company(Time now) {
  if (pending_.empty() || options_.workflows == nullptr || options_.remote || draining_.load()) { return false; }
  const std::size_t others = static_cast<std::size_t>(options_.workflows->active());
  if (pending_.size() >= others || now - crowd_at_ > crowd_lately ||
      !std::ranges::all_of(pending_, is_ended_workflow)) {
    return false;
  }
  if (company_until_ == never) { company_until_ = now + company_wait_; }
  return now < company_until_;
}

// After a call with the outcomes of most workflows: sets how long the next small group waits for more.
void Dispatcher::note_crowd(std::span<const Settled> sent, Time now, Duration took) {
  company_until_ = never;
  if (options_.workflows == nullptr) { return; }
  const auto count = std::ranges::count_if(sent, is_ended_workflow);
  if (count < crowd_min || count < options_.workflows->active()) { return; }
  crowd_at_ = now + took;
  company_wait_ = std::min(took, company_wait_max);
}

// Whether all workflows of the worker have ended and wait for the next call. The group would stay together from call to
// call: the store idles while the workflows run, and they idle while the store works. On a remote store half of them
// therefore go first: callers that get these results start their next workflows while the store takes the other half.
bool Dispatcher::all_ended_at_once() {
  if (options_.workflows == nullptr || !options_.remote) { return false; }
  const int active = options_.workflows->active();
  const std::size_t present = pending_.size() + static_cast<std::size_t>(active);
  workflows_lately_ = std::max(present, workflows_lately_ - workflows_lately_ / 16);
  const bool all = active == 0 && load_.queued + load_.running == 0 && pending_.size() >= worth_halving &&
                   4 * pending_.size() >= 3 * workflows_lately_;
  return all && std::ranges::all_of(pending_, is_ended_workflow);
}

// The outcomes of the next transaction, bounded in number and in bytes.
std::vector<Settled> Dispatcher::next_batch() {
  auto middle = pending_.begin();
  std::size_t bytes = 0;
  const std::ptrdiff_t share = all_ended_at_once() ? std::ssize(pending_) / 2 : std::ssize(pending_);
  const std::ptrdiff_t most = std::min<std::ptrdiff_t>(share, limits::finish_batch);
  while (middle != pending_.end() && middle - pending_.begin() < most && bytes < finish_bytes) {
    if (middle->finish) { bytes += middle->finish->result.size(); }
    ++middle;
  }
  std::vector<Settled> batch;
  if (middle == pending_.end()) {
    batch.swap(pending_);
  } else {
    batch.assign(std::make_move_iterator(pending_.begin()), std::make_move_iterator(middle));
    pending_.erase(pending_.begin(), middle);
  }
  return batch;
}

bool Dispatcher::exchange(const Plan& next, Time now) {
  std::vector<Settled> batch = next_batch();
  std::vector<model::Finish> finishes;
  finishes.reserve(batch.size());
  // Outcomes are moved there and back, not copied: results may be large.
  for (Settled& settled : batch) {
    if (settled.finish) { finishes.push_back(std::move(*settled.finish)); }
  }
  const auto take_back = [&] {
    std::size_t next_finish = 0;
    for (Settled& settled : batch) {
      if (settled.finish) { *settled.finish = std::move(finishes[next_finish++]); }
    }
  };
  model::ClaimRequest request;
  std::optional<ClaimTicket> ticket;
  if (next.limit > 0) { ticket = session_.begin_claim(); }
  if (ticket) {
    request.session = ticket->session;
    request.claim_number = ticket->number;
    request.queues = options_.queues;
    std::ranges::rotate(request.queues,
                        request.queues.begin() + static_cast<std::ptrdiff_t>(rotation_++ % request.queues.size()));
    request.tasks = names(next);
    request.limit = next.limit;
    request.idle = std::max(0, load_.threads - load_.queued - load_.running);
    request.alone = next.alone;
    questions_left_ = false;
    if (next.workflows && options_.questions) { add_questions(request, now); }
  }
  model::Exchange reply;
  const Time asked_at = engine_now();
  try {
    base::fault_point("engine.exchange.before");
    if (!finishes.empty() || ticket) { reply = store_.exchange(finishes, ticket ? &request : nullptr); }
    base::fault_point("engine.exchange.after");
  } catch (const StoreUnavailable& error) {
    trouble(error.what());
    take_back();
    std::ranges::move(batch, std::back_inserter(pending_));
    if (ticket) {
      session_.abandon(*ticket);
      options_.on_doubt();
    }
    away_.store(true);
    return false;
  } catch (const std::exception& error) {
    trouble(error.what());
    take_back();
    if (ticket) {
      session_.abandon(*ticket);
      options_.on_doubt();
    }
    if (batch.empty()) {
      away_.store(true);
      return false;
    }
    send_one_by_one(std::move(batch));
    return !backoff_.active();
  }
  take_back();
  backoff_.reset();
  away_.store(false);
  note_crowd(batch, now, engine_now() - asked_at);
  if (ticket) {
    std::vector<RunPtr> runs;
    runs.reserve(reply.claim.claims.size());
    // Measured after the answer: a workflow's clock counts on from the claim's time and must not run ahead of the
    // store's.
    const Time received = now + (engine_now() - asked_at);
    for (model::Claim& claim : reply.claim.claims) {
      RunPtr run = std::make_shared<Run>(std::move(claim));
      run->received = received;
      runs.push_back(std::move(run));
    }
    reply.claim.claims.clear();
    if (session_.settle(*ticket, runs)) {
      const bool full = static_cast<int>(runs.size()) >= next.limit;
      if (next.alone && !runs.empty() && runs.front()->claim().lost > 0) {
        suspect_ = runs.front();
        suspect_since_ = now;
      }
      if (next.tasks) { more_tasks_ = full; }
      if (next.workflows) { more_workflows_ = full; }
      if (!runs.empty()) { idle_wait_ = Duration::zero(); }
      hand_out(std::move(runs));
      claimed(std::move(reply.claim), next, now);
    }
  }
  if (!reply.woken.empty() && options_.on_woken) { options_.on_woken(reply.woken); }
  // After the claims, so that the pool already works while waiters get their results.
  std::vector<model::FinishVerdict> verdicts;
  verdicts.reserve(batch.size());
  std::size_t answer = 0;
  for (const Settled& settled : batch) {
    verdicts.push_back(settled.finish ? reply.verdicts[answer++] : model::FinishVerdict::accepted);
  }
  answered(batch, verdicts);
  return true;
}

void Dispatcher::claimed(model::ClaimReply reply, const Plan& next, Time now) {
  if (reply.suspects_due && !suspects_due_) { suspects_since_ = now; }
  suspects_due_ = reply.suspects_due;
  if (next.alone && !suspect_) { suspects_due_ = false; }
  idle_wait_ = std::clamp(idle_wait_ * 2, idle_wait_min, idle_wait_max);
  claim_at_ = now + (reply.next_due ? std::clamp(*reply.next_due, Duration::zero(), idle_wait_) : idle_wait_);
  // The wakeup may have been for a question that this claim left out.
  if (questions_left_) { claim_at_ = std::min(claim_at_, questions_at_); }
}

Time Dispatcher::next_step(Time now) const {
  Time next = never;
  if (!draining_.load() && session_.is_open() && !suspect_) {
    // Without room a claim is pointless. An outcome makes room and wakes the dispatcher.
    next = suspects_due_ ? suspects_since_ + suspects_patience : no_room_ ? never : claim_at_;
    const std::int64_t hint = hint_us_.load();
    if (hint != INT64_MAX) { next = std::min(next, Time(Duration(hint))); }
  }
  if (load_.queued > 0 || (load_.running > 0 && load_.runs_per_second > quick_rate * load_.threads)) {
    next = std::min(next, now + busy_look);  // rebalance, and collect what quick handlers did before a slow one
  } else if (load_.running > 0) {
    next = std::min(next, now + calm_look);
  }
  if (options_.workflows != nullptr && options_.workflows->active() > 0) { next = std::min(next, now + flow_look); }
  if (!held_up_.empty()) { next = std::min(next, held_up_at_); }
  return std::max(next, now);
}

bool Dispatcher::hint(Time due) {
  const std::int64_t due_us = due.time_since_epoch().count();
  std::int64_t current = hint_us_.load();
  while (due_us < current) {
    if (hint_us_.compare_exchange_weak(current, due_us)) { return true; }
  }
  return false;
}

void Dispatcher::set_tasks(std::vector<std::string> tasks) {
  const std::lock_guard lock(tasks_mutex_);
  tasks_ = std::move(tasks);
}

WorkerStats Dispatcher::stats() const {
  const std::lock_guard lock(stats_mutex_);
  return stats_;
}

void Dispatcher::trouble(std::string_view what) {
  if (options_.on_trouble) { options_.on_trouble(what); }
}

}  // namespace hapax::engine
