// Generated programs on workers, many at once on one thread, with and without a cache of those that wait.
#include "api/stores.hpp"
#include "workflow/interpreter.hpp"
#include "workflow/memory_ledger.hpp"
#include "workflow/oracle.hpp"
#include "workflow/program.hpp"

#include <hapax/hapax.hpp>

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace hapax::generated {

namespace {

using namespace std::chrono_literals;

// All programs of a test, by seed.
class Programs {
 public:
  Programs(std::uint64_t first, int count) {
    for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
      programs_.emplace(seed, generate(seed));
    }
  }
  [[nodiscard]] const auto& all() const { return programs_; }
  [[nodiscard]] std::shared_ptr<const Program> at(std::uint64_t seed) const { return programs_.at(seed); }

 private:
  std::map<std::uint64_t, std::shared_ptr<const Program>> programs_;
};

bool hangs(const Program& program) {
  const auto is_hang = [](const Op& op) { return op.kind == Kind::hang; };
  const Op* last = &program.root.body.back();
  while (last->kind == Kind::go_on) { last = &last->body.back(); }
  return is_hang(*last);
}

// The outside world: starts them all, sends signals to whoever has begun, cancels, and waits.
class Outside {
 public:
  Outside(App& app, const Programs& programs, MemoryLedger& ledger) : app_(app), programs_(programs), ledger_(ledger) {}

  void start() {
    for (const auto& [seed, program] : programs_.all()) {
      const std::string chain = "p" + std::to_string(seed);
      roots_.emplace(chain, app_.start(flow, root_input(*program, chain), {.workflow_id = chain}));
      // What hangs is cancelled at some time, and so are a few others.
      if (hangs(*program) || program->cancel_after) {
        cancels_.emplace(Clock::now() + std::chrono::milliseconds(random_() % 60), chain);
      }
    }
  }

  // False when it takes too long.
  bool wait_until_all_ended(Duration at_most) {
    const auto until = Clock::now() + at_most;
    while (true) {
      send_signals();
      send_cancels();
      const auto left = app_.list({.statuses = {Status::pending, Status::running}, .task = "flow", .limit = 1000});
      if (left.empty()) { return true; }
      if (Clock::now() > until) { return false; }
      std::this_thread::sleep_for(2ms);
    }
  }

  void check() {
    for (const auto& [seed, program] : programs_.all()) {
      const std::string chain = "p" + std::to_string(seed);
      Observed observed;
      ledger_.observe(chain, observed);
      observed.cancel_asked = cancelled_.contains(chain);
      for (auto& [actor, run] : observed.runs) { look(run); }
      std::string text;
      for (const std::string& problem : generated::check(*program, chain, observed)) { text += "  " + problem + "\n"; }
      EXPECT_EQ(text, "") << "seed " << seed << ": " << to_string(*program);
    }
    for (const std::string& problem : ledger_.problems()) { ADD_FAILURE() << problem; }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void send_signals() {
    for (const auto& [actor, log] : ledger_.runs()) {
      if (!actor.ends_with("#0") || !signalled_.insert(actor).second) { continue; }
      const std::size_t slash = actor.rfind('/');
      const auto program = programs_.at(std::stoull(actor.substr(1, actor.find('#') - 1)));
      const bool root = slash == std::string::npos;
      const Op& op = root ? program->root : program->at(std::stoi(actor.substr(slash + 1)));
      const auto handle = app_.find(flow, log.execution);
      int number = 0;
      for (const PlannedSignal& signal : signals_of(op)) {
        try {
          handle.signal(signal.name, signal.payload, "once" + std::to_string(number++));
        } catch (const WrongStatus&) { break; }  // it has ended without
      }
    }
  }

  void send_cancels() {
    while (!cancels_.empty() && cancels_.begin()->first <= Clock::now()) {
      const std::string chain = cancels_.begin()->second;
      cancels_.erase(cancels_.begin());
      (void)app_.find(flow, chain).cancel("asked from outside");
      cancelled_.insert(chain);
    }
  }

  void look(ObservedRun& run) {
    const auto execution = app_.get(run.log.execution);
    if (!execution || !is_terminal(execution->status)) { return; }
    run.status = execution->status;
    run.continued = execution->continued_as.has_value();
    if (execution->status == Status::completed && !run.continued) {
      run.result = app_.find(flow, run.log.execution).result();
    }
  }

  App& app_;
  const Programs& programs_;
  MemoryLedger& ledger_;
  std::mt19937_64 random_{7};
  std::map<std::string, WorkflowHandle<std::uint32_t>> roots_;
  std::multimap<Clock::time_point, std::string> cancels_;
  std::set<std::string> cancelled_;
  std::set<std::string> signalled_;
};

class GeneratedOnLanes : public OnStore {
 protected:
  void run(int cache, std::uint64_t first, int count) {
    const Programs programs(first, count);
    MemoryLedger ledger;
    const auto setting =
        std::make_shared<const Setting>(Setting{.ledger = ledger,
                                                .find = [&programs](std::uint64_t seed) { return programs.at(seed); },
                                                .tick = 1ms,
                                                .forever = 1000h,
                                                .retry = 1ms});
    {
      App app = open();
      handle_programs(app, setting);
      Outside outside(app, programs, ledger);
      std::string troubles;
      std::mutex mutex;
      Worker worker = app.work({.queues = {"default", "other"},
                                .threads = 1,
                                .workflow_cache = cache,
                                .on_trouble = [&](std::string_view what) {
                                  const std::lock_guard lock(mutex);
                                  troubles += std::string(what) + "\n";
                                }});
      outside.start();
      const bool ended = outside.wait_until_all_ended(60s);
      worker.stop();
      EXPECT_TRUE(ended);
      outside.check();
      EXPECT_EQ(troubles, "");
    }
    EXPECT_EQ(live_scopes(), 0);
  }

  [[nodiscard]] int count() const { return GetParam() == "memory" ? 200 : 40; }
};

TEST_P(GeneratedOnLanes, WithoutACache) { run(0, 100001, count()); }
TEST_P(GeneratedOnLanes, WithASmallCache) { run(4, 200001, count()); }
TEST_P(GeneratedOnLanes, WithACacheForAll) { run(1000, 300001, count()); }

INSTANTIATE_TEST_SUITE_P(Stores, GeneratedOnLanes, all_stores, [](const auto& store) { return store.param; });

}  // namespace

}  // namespace hapax::generated
