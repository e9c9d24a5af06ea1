#include "workflow/driver.hpp"

#include "app/app_state.hpp"
#include "app/inline_runner.hpp"
#include "base/clock.hpp"
#include "store/open.hpp"
#include "workflow/interpreter.hpp"
#include "workflow/journal.hpp"
#include "workflow/memory_ledger.hpp"
#include "workflow/oracle.hpp"

#include <atomic>
#include <optional>
#include <random>
#include <set>
#include <utility>

namespace hapax::generated {

namespace {

using namespace std::chrono_literals;

// A tick is far longer than a lease or a retry delay, so neither a crash nor a retry changes which of two timers fires
// first.
constexpr Duration lease = 200ms;
constexpr Duration tick = 10min;
constexpr Duration forever = std::chrono::days(3000);
constexpr Duration soon = std::chrono::days(100);
constexpr int turns_max = 5000;

// The processes of one program, one after the other, each with its own session. All share one app, which keeps nothing
// of a program besides sessions, handlers and stacks.
class Process {
 public:
  Process(store::Store& store, CrashStore::Plan plan, const std::shared_ptr<const Setting>& setting) {
    auto mortal = std::make_unique<CrashStore>(store, std::move(plan));
    store_ = mortal.get();
    state_ = detail::make_app_state(std::move(mortal), "default");
    App app(state_);
    handle_programs(app, setting);
    begin();
  }

  void end() { runner_.reset(); }
  void begin() {
    store_->revive();
    runner_ = std::make_unique<app::InlineRunner>(
        *store_,
        app::InlineRunner::Options{
            .queues = {state_->queue("default"), state_->queue("other")}, .tasks = {"flow", "work"}, .lease = lease},
        [this](engine::Run& run) { return state_->execute(run); },
        [this](const engine::RunPtr& run) { return state_->turn(run); });
  }

  // Returns false if nothing is due.
  bool run_one() {
    const bool ran = runner_->run_one().has_value();
    if (store_->is_dead()) { throw Died(); }
    return ran;
  }
  [[nodiscard]] std::optional<Duration> next_due() const { return runner_->next_due(); }

 private:
  CrashStore* store_ = nullptr;
  std::shared_ptr<detail::AppState> state_;
  std::unique_ptr<app::InlineRunner> runner_;
};

// One program, from its start to its end.
class Play {
 public:
  Play(const Stage& stage, std::shared_ptr<const Program> program, std::string chain, Plan& plan)
      : stage_(stage),
        program_(std::move(program)),
        chain_(std::move(chain)),
        plan_(plan),
        client_(detail::make_app_state(std::make_unique<CrashStore>(*stage_.store), "default")) {}

  Report run() {
    root_ = client_.start(flow, root_input(*program_, chain_), {.workflow_id = chain_});
    plan_signals();
    send_early();
    go();
    observe();
    report_.problems = check(*program_, chain_, observed_);
    for (const std::string& problem : ledger_.problems()) { report_.problems.push_back(problem); }
    check_leftovers();
    report_.processes = ledger_.process() + 1;
    return std::move(report_);
  }

 private:
  struct Due {
    std::string chain;
    PlannedSignal signal;
    std::string once;
  };

  void plan_signals() {
    for (const auto& [id, op] : program_->by_id) {
      if (op->kind != Kind::child) { continue; }
      int number = 0;
      for (PlannedSignal& signal : signals_of(*op)) {
        due_signals_.emplace(id, std::pair{std::move(signal), "once" + std::to_string(number++)});
      }
    }
  }

  void send_early() {
    for (auto next = due_signals_.begin(); next != due_signals_.end();) {
      const auto& [signal, once] = next->second;
      if (!signal.early) {
        ++next;
        continue;
      }
      send(root_, signal, once);
      next = due_signals_.erase(next);
    }
  }

  // Sends the signal twice; the second one must change nothing.
  static void send(const WorkflowHandle<std::uint32_t>& to, const PlannedSignal& signal, const std::string& once) {
    for (int i = 0; i < 2; ++i) {
      try {
        to.signal(signal.name, signal.payload, once);
      } catch (const WrongStatus&) {
        return;  // the workflow ended without this signal
      }
    }
  }

  // Sends the next signal whose receiver has begun.
  bool send_one() {
    const auto runs = ledger_.runs();
    for (auto next = due_signals_.begin(); next != due_signals_.end(); ++next) {
      for (const auto& [actor, log] : runs) {
        if (op_of(actor) != next->first) { continue; }
        send(client_.find(flow, log.execution), next->second.first, next->second.second);
        due_signals_.erase(next);
        return true;
      }
    }
    return false;
  }

  // The operation whose body `actor` executes; 0 if `actor` is not the first run of a chain.
  [[nodiscard]] int op_of(const std::string& actor) const {
    if (actor == chain_ + "#0") { return program_->root.id; }
    const std::size_t slash = actor.rfind('/');
    const std::size_t hash = actor.rfind('#');
    if (slash == std::string::npos || hash < slash || actor.substr(hash) != "#0") { return 0; }
    return std::stoi(actor.substr(slash + 1, hash - slash - 1));
  }

  void begin_processes() {
    const auto plan = [this](const Write& write) {
      ++report_.writes;
      return plan_.at(write);
    };
    setting_ = std::make_shared<Setting>(Setting{.ledger = ledger_,
                                                 .find = [this](std::uint64_t) { return program_; },
                                                 .tick = tick,
                                                 .forever = forever,
                                                 .upgraded = !program_->upgrade_after,
                                                 .transactions = stage_.transactions});
    process_ = std::make_unique<Process>(*stage_.store, plan, setting_);
  }

  void bury() {
    process_->end();
    ledger_.bury([this](const EffectKey& key, const Uuid& execution) { return recorded(key, execution); });
    stage_.pass(lease + 1ms);
    (void)stage_.store->sweep({});
    setting_->upgraded = !program_->upgrade_after || ledger_.process() >= *program_->upgrade_after;
    process_->begin();
  }

  MemoryLedger::Recorded recorded(const EffectKey& key, const Uuid& execution) {
    MemoryLedger::Recorded found;
    if (program_->at(key.op).kind == Kind::task) {
      for (const model::Attempt& attempt : stage_.store->attempts(execution)) {
        if (attempt.outcome == "failed" || attempt.outcome == "completed") { ++found.calls; }
      }
      const auto task = stage_.store->get(execution);
      found.settled = task && is_terminal(task->status);
      return found;
    }
    const std::string name = "s" + std::to_string(key.op);
    const model::HistoryRequest request{.execution = execution};
    const auto histories = stage_.store->histories({&request, 1});
    for (const model::JournalEntry& entry : histories.front().entries) {
      if (entry.name != name) { continue; }
      const auto kind = workflow::entry_of(entry);
      const bool settles = kind == workflow::Entry::step || kind == workflow::Entry::step_failed;
      if (!settles && kind != workflow::Entry::step_retry) { continue; }
      ++found.calls;
      found.settled = found.settled || settles;
    }
    return found;
  }

  void go() {
    begin_processes();
    for (int turn = 0; turn < turns_max; ++turn) {
      if (program_->cancel_after == turn) { cancel(); }
      try {
        if (process_->run_one()) { continue; }
      } catch (const Died&) {
        bury();
        continue;
      }
      const auto next = process_->next_due();
      if (next && *next < soon) {
        stage_.pass(std::max(*next, Duration(1)));
      } else if (!send_one()) {
        if (has_ended()) { return; }
        if (observed_.cancelled_when_idle) { break; }
        observed_.cancelled_when_idle = true;
        cancel();
      }
    }
    report_.problems.push_back(chain_ + " does not come to an end");
  }

  void cancel() {
    observed_.cancel_asked = true;
    model::Execution last = last_run();
    (void)client_.cancel(last.id, "asked from outside");
  }

  model::Execution last_run() {
    auto execution = stage_.store->get(root_.id());
    while (execution->continued_as) { execution = stage_.store->get(*execution->continued_as); }
    return *execution;
  }

  bool has_ended() { return is_terminal(last_run().status); }

  void observe() {
    ledger_.observe(chain_, observed_);
    for (auto& [actor, run] : observed_.runs) {
      const auto execution = stage_.store->get(run.log.execution);
      if (!execution || !is_terminal(execution->status)) { continue; }
      run.status = execution->status;
      run.continued = execution->continued_as.has_value();
      if (execution->result && !run.continued) {
        const auto value = nlohmann::json::parse(*execution->result, nullptr, false);
        if (value.is_number_unsigned()) { run.result = value.get<std::uint32_t>(); }
      }
    }
  }

  // Only tasks with a delay of years may be left. This cancels them, because the next program uses the same stage.
  void check_leftovers() {
    model::ListQuery query;
    query.statuses = {Status::pending, Status::running};
    query.limit = 1000;
    query.payloads = false;
    std::vector<Uuid> left;
    for (const model::Execution& execution : stage_.store->list(query)) {
      left.push_back(execution.id);
      if (execution.task == "work" && execution.run_at > stage_.store->now() + soon) { continue; }
      report_.problems.push_back("an execution of '" + execution.task + "' (" + execution.identity_key +
                                 ") is left as " + std::string(to_string(execution.status)) +
                                 (execution.stuck.empty() ? "" : ", stuck: " + execution.stuck));
    }
    if (!left.empty()) { (void)stage_.store->cancel(left, "left"); }
  }

  const Stage& stage_;
  const std::shared_ptr<const Program> program_;
  const std::string chain_;
  Plan& plan_;
  App client_;
  MemoryLedger ledger_;
  WorkflowHandle<std::uint32_t> root_;
  std::multimap<int, std::pair<PlannedSignal, std::string>> due_signals_;
  std::shared_ptr<Setting> setting_;
  std::unique_ptr<Process> process_;
  Observed observed_;
  Report report_;
};

class NoDeaths final : public Plan {
 public:
  Death at(const Write&) override { return Death::none; }
};

class OneDeath final : public Plan {
 public:
  OneDeath(int write, Death death) : left_(write), death_(death) {}
  Death at(const Write&) override { return --left_ == 0 ? death_ : Death::none; }

 private:
  int left_;
  const Death death_;
};

class DeathsEverywhere final : public Plan {
 public:
  explicit DeathsEverywhere(std::uint64_t seed) : random_(seed) {}

  Death at(const Write& write) override {
    const bool again = std::exchange(redone_, false);
    // Too many deaths with one execution, without progress in between, would make it a dead letter.
    if (write.kind == Write::Kind::claim) { return write.lost == 0 && random_() % 8 == 0 ? Death::after : Death::none; }
    if (write.kind == Write::Kind::other && write.lost >= 2) { return Death::none; }
    if (again) { return Death::none; }
    if (write.lost < 2 && random_() % 2 == 0) {
      redone_ = true;
      return Death::before;
    }
    return Death::after;
  }

 private:
  std::mt19937_64 random_;
  bool redone_ = false;  // the next write repeats the one that did not take effect
};

}  // namespace

Stage memory_stage() {
  auto clock = std::make_shared<base::ManualClock>(parse_time("2026-01-01T00:00:00Z"));
  store::OpenOptions options;
  options.clock = clock;
  return {.store = store::open("memory:", options),
          .pass = [clock](Duration by) { clock->advance(by); },
          .transactions = false};
}

Stage sqlite_stage(const std::string& path) {
  auto offset = std::make_shared<std::atomic<std::int64_t>>(0);
  store::OpenOptions options;
  options.clock_offset_us = offset;
  return {.store = store::open("sqlite:" + path, options),
          .pass = [offset](Duration by) { offset->fetch_add(by.count()); }};
}

std::unique_ptr<Plan> no_deaths() { return std::make_unique<NoDeaths>(); }
std::unique_ptr<Plan> one_death(int write, Death death) { return std::make_unique<OneDeath>(write, death); }
std::unique_ptr<Plan> deaths_everywhere(std::uint64_t seed) { return std::make_unique<DeathsEverywhere>(seed); }

Report play(const Stage& stage, const std::shared_ptr<const Program>& program, const std::string& chain, Plan& plan) {
  return Play(stage, program, chain, plan).run();
}

}  // namespace hapax::generated
