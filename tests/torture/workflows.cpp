#include "torture/workflows.hpp"

#include "torture/faults.hpp"
#include "torture/plan.hpp"

#include "workflow/journal.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

namespace hapax::torture {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* role = "workflow-worker";
constexpr const char* in_handler = "killed, suspended in a catch block";
constexpr const char* in_compensation = "killed, suspended in a compensation";
constexpr const char* made_again = "effects made again";
constexpr int live_at_once = 60;
constexpr Duration cancel_within = milliseconds(1500);
// Longer than elsewhere: a lease that a busy machine lets run out would spoil the test.
constexpr Duration workflow_lease = seconds(2);
constexpr Duration workflows_patience = seconds(120);

constexpr int all_of_them = 1000;
// With this many kills a run meets suspended workflows in catch blocks and in compensations.
constexpr int kills_of_a_whole_run = 100;

std::string worker_name(int number) { return "workflow-" + std::to_string(number); }

}  // namespace

Workflows::Workflows(const Options& options)
    : options_(options), place_(make_place(options.store, "workflows")), random_(options.seed) {
  store_ = store::open(place_.url, {.migrate = store::Migrate::yes});
  app_ = open(place_.url);
  tail_.emplace(place_.folder);
  outside_.emplace(*app_, ledger_, generated::Outside::Options{.cancel_within = cancel_within, .sturdy = true});
  children_ = std::make_unique<Children>(options_, place_.url, place_.folder);
}

Workflows::~Workflows() = default;

int Workflows::run() {
  std::printf("workflows on %s: %d programs, %d kills, seed %llu, folder %s\n", options_.store.c_str(),
              options_.programs, options_.kills, static_cast<unsigned long long>(options_.seed), place_.folder.c_str());
  std::fflush(stdout);
  check_lost_calls();
  chaos();
  settle();
  check();
  findings_.count("programs", started_);
  findings_.count("programs hit by a kill", static_cast<std::int64_t>(programs_hit_.size()));
  findings_.print();
  const bool passed = findings_.violations() == 0;
  std::printf(
      "%s: workflows, kills %d, of them on running programs %d, programs %d, suspended in catch %lld, in compensation "
      "%lld, "
      "effects %lld, made again %lld, seed %llu, %lld s\n",
      passed ? "PASSED" : "FAILED", kills_, hits_, started_, static_cast<long long>(findings_.counted(in_handler)),
      static_cast<long long>(findings_.counted(in_compensation)), static_cast<long long>(findings_.counted("effects")),
      static_cast<long long>(findings_.counted(made_again)), static_cast<unsigned long long>(options_.seed),
      static_cast<long long>(std::chrono::duration_cast<seconds>(Ticks::now() - begun_).count()));
  if (passed && !options_.keep) std::filesystem::remove_all(place_.folder);
  if (!passed) std::printf("ledger and store are kept in %s\n", place_.folder.c_str());
  return passed ? 0 : 1;
}

void Workflows::chaos() {
  const auto until = Ticks::now() + seconds(options_.seconds);
  next_kill_ = Ticks::now() + milliseconds(500);
  while ((hits_ < options_.kills || started_ < options_.programs) && Ticks::now() < until) {
    look_after();
    keep_up_numbers(true);
    start_programs();
    if (kill_is_due()) {
      kill_somebody();
      next_kill_ = Ticks::now() + milliseconds(20 + below(random_, 500));
    }
    progress("hurting", false);
    std::this_thread::sleep_for(milliseconds(5));
  }
  next_kill_ = Ticks::time_point::max();
}

// Kills a process that is executing a run, or a task of one.
void Workflows::kill_somebody() {
  std::vector<Child*> busy;
  for (const ExecutionRecord& one : running()) {
    for (Child& child : children_->living()) {
      if (!child.killed && one.worker == worker_name(child.number)) busy.push_back(&child);
    }
  }
  if (!busy.empty()) children_->kill(*busy[static_cast<std::size_t>(below(random_, static_cast<int>(busy.size())))]);
}

std::vector<ExecutionRecord> Workflows::running() {
  return app_->list({.statuses = {Status::running}, .limit = all_of_them});
}

// One new process in two has a crash point armed.
void Workflows::keep_up_numbers(bool with_faults) {
  while (children_->count(role) < options_.workers) {
    const bool armed = with_faults && one_in(random_, 2);
    const std::string fault = armed ? random_fault(random_, options_.store, role) : "";
    children_->start({.role = role, .fault = fault, .lease = workflow_lease});
  }
}

void Workflows::start_programs() {
  // A program's number is its seed; the run's seed decides where the numbers begin.
  while (live_ < static_cast<std::size_t>(std::min(live_at_once, options_.programs)) && !kill_is_due()) {
    const std::uint64_t seed = options_.seed % 1'000'000'000 * 100'000 + static_cast<std::uint64_t>(started_);
    outside_->start(generated::generate(seed, program_size));
    ++started_;
    ++live_;
  }
}

void Workflows::look_after() {
  note_ended(children_->reap());
  children_->resume_due(false);
  tail_->read_into(ledger_);
  outside_->act([this] { return kill_is_due(); });
  if (Ticks::now() - last_look_ < milliseconds(100)) return;
  last_look_ = Ticks::now();
  live_ = outside_->live();
}

void Workflows::settle() {
  const auto until = Ticks::now() + workflows_patience;
  do {
    look_after();
    keep_up_numbers(false);
    progress("settling", false);
    std::this_thread::sleep_for(milliseconds(5));
  } while ((live_ > 0 || outside_->live() > 0) && Ticks::now() < until);
  if (outside_->live() > 0) {
    findings_.violation("does not settle", std::to_string(outside_->live()) + " workflows are left after 120 s");
  }
  // Also wait for tasks that no workflow waits for any more.
  const auto busy = [&] {
    const auto left = app_->list({.statuses = {Status::pending, Status::running}, .task = "work", .limit = 1000});
    return std::ranges::any_of(
        left, [&](const ExecutionRecord& one) { return one.run_at < store_->now() + workflows_patience; });
  };
  while (busy() && Ticks::now() < until) {
    look_after();
    keep_up_numbers(false);
    std::this_thread::sleep_for(milliseconds(20));
  }
  if (busy()) findings_.violation("does not settle", "tasks are left");
  for (auto& child : children_->living()) children_->terminate(child);
  note_ended(children_->wait_for_end(role, seconds(20)));
  tail_->read_into(ledger_);
  progress("settled", true);
}

void Workflows::check() {
  Fates fates = tail_->fates();
  findings_.count("faults thrown", static_cast<std::int64_t>(fates.losses.size()));
  findings_.count("processes in trouble", static_cast<std::int64_t>(fates.troubled.size()));
  for (const int process : killed_) {
    if (const auto at = tail_->last_seen(process)) fates.losses.emplace(process, *at);
  }
  const auto verdicts = outside_->check([&](const generated::Program& program, generated::Observed& observed) {
    check_never_again(program, observed);
    findings_.count("effects", static_cast<std::int64_t>(observed.calls.size()));
    observed.lost = lost_calls(observed.calls, fates);
    for (const auto& [key, lost] : observed.lost) {
      findings_.count(made_again, std::min(lost, static_cast<int>(observed.calls.at(key).size()) - 1));
    }
  });
  for (const auto& [program, problems] : verdicts) {
    std::string text = "\n";
    for (const std::string& problem : problems) text += "  " + problem + "\n";
    findings_.violation("not as the oracle says", text + generated::to_string(*program));
  }
  for (const std::string& problem : ledger_.problems()) findings_.violation("ledger", problem);
  if (hits_ < options_.kills) findings_.violation("too few kills", std::to_string(hits_) + " in the time given");
  if (hits_ < kills_of_a_whole_run) return;
  for (const char* where : {in_handler, in_compensation}) {
    if (findings_.counted(where) == 0) findings_.violation("vacuous", std::string("never: ") + where);
  }
}

void Workflows::check_never_again(const generated::Program& program, const generated::Observed& observed) {
  for (const auto& [key, calls] : observed.calls) {
    const auto recorded = recorded_at(key, calls.front().effect.execution);
    if (!recorded) continue;
    // On SQLite a transactional step's record has the time at which its transaction began; the last call was made
    // inside it.
    const generated::Op& op = program.at(key.op);
    bool own = options_.store == "sqlite" && op.atomic && op.mode == generated::Mode::ok;
    for (const generated::Call& call : calls) {
      if (call.at <= *recorded || std::exchange(own, false) || tail_->fates().troubled.contains(call.process)) continue;
      findings_.violation("made again although recorded", key.actor + " operation " + std::to_string(key.op));
    }
  }
}

// The time after which the store knows that this effect needs no further call.
std::optional<Time> Workflows::recorded_at(const generated::EffectKey& key, const Uuid& execution) {
  const auto found = store_->get(execution);
  if (!found) return std::nullopt;
  if (found->task == "work") return found->finished_at;
  const std::string name = "s" + std::to_string(key.op);
  const model::HistoryRequest request{.execution = execution};
  const auto histories = store_->histories({&request, 1});
  for (const model::JournalEntry& entry : histories.front().entries) {
    const auto kind = workflow::entry_of(entry);
    const bool settles = kind == workflow::Entry::step || kind == workflow::Entry::step_failed;
    if (settles && entry.name == name) return entry.at;
  }
  return std::nullopt;
}

void Workflows::note_ended(const std::vector<Ended>& ended) {
  for (const auto& one : ended) {
    if (one.by_kill && !one.failed) note_killed(one.child);
    if (!one.failed) continue;
    const std::string name = one.child.role + "-" + std::to_string(one.child.number);
    findings_.violation("a child failed", name + " " + one.how + " (" + one.child.fault + ") " +
                                              first_lines(place_.folder + "/" + name + ".err"));
  }
}

// The killed process's lease still runs, so the store still shows its executions as running.
void Workflows::note_killed(const Child& child) {
  killed_.push_back(child.number);
  ++kills_;
  findings_.count(child.killed ? "killed by the controller" : "killed at a crash point");
  bool hit = false;
  for (const ExecutionRecord& one : running()) {
    if (one.worker != worker_name(child.number)) continue;
    hit = true;
    // The inputs of runs and tasks begin with the program's number.
    programs_hit_.insert(std::stoull(nlohmann::json::parse(one.input).get<std::string>()));
  }
  if (hit) ++hits_;
  tail_->read_into(ledger_);
  int suspended = 0;
  for (const auto& [actor, where] : tail_->whereabouts()) {
    if (where.process != child.number || where.handlers + where.compensations == 0) continue;
    const auto run = app_->get(where.execution);
    if (!run || !run->waiting) continue;
    ++suspended;
    if (where.handlers > 0) findings_.count(in_handler);
    if (where.compensations > 0) findings_.count(in_compensation);
  }
  if (suspended > 1) findings_.count("killed with several runs suspended there");
}

void Workflows::progress(const char* phase, bool now) {
  if (!now && Ticks::now() - last_progress_ < seconds(5)) return;
  last_progress_ = Ticks::now();
  std::printf("%-9s %4lld s, kills %d, of them on running programs %d of %d, programs %d, live %zu\n", phase,
              static_cast<long long>(std::chrono::duration_cast<seconds>(Ticks::now() - begun_).count()), kills_, hits_,
              options_.kills, started_, live_);
  std::fflush(stdout);
}

}  // namespace hapax::torture
