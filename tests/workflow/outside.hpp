// Outside: the world around programs that run on workers. Starts programs, sends signals to runs that have begun,
// cancels, and asks the oracle when all programs have ended.
#pragma once

#include "base/random.hpp"
#include "workflow/interpreter.hpp"
#include "workflow/memory_ledger.hpp"
#include "workflow/oracle.hpp"
#include "workflow/program.hpp"

#include <hapax/hapax.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace hapax::generated {

// Used by one thread. Program n is the chain "p<n>".
class Outside {
 public:
  struct Options {
    Duration cancel_within;  // latest time of a cancellation, counted from the program's start
    bool sturdy = false;
  };
  Outside(App& app, MemoryLedger& ledger, const Options& options) : app_(app), ledger_(ledger), options_(options) {}

  void start(const std::shared_ptr<const Program>& program);
  // Sends the due signals and cancellations until `enough` returns true; the next call sends the rest.
  using Enough = std::function<bool()>;
  void act(const Enough& enough = [] { return false; });
  // Number of workflows, roots and children, that have not ended.
  [[nodiscard]] std::size_t live();

  // The problems of each program that broke a rule. `excuse` may add facts that the ledger cannot know.
  struct Verdict {
    std::shared_ptr<const Program> program;
    std::vector<std::string> problems;
  };
  using Excuse = std::function<void(const Program&, Observed&)>;
  [[nodiscard]] std::vector<Verdict> check(const Excuse& excuse = {});

 private:
  using Clock = std::chrono::steady_clock;

  void send_signals(const Enough& enough);
  void send_cancels(const Enough& enough);
  void look(ObservedRun& run);

  App& app_;
  MemoryLedger& ledger_;
  const Options options_;
  base::SeededRandom random_{7};
  std::map<std::uint64_t, std::shared_ptr<const Program>> programs_;
  std::multimap<Clock::time_point, std::string> cancels_;
  std::set<std::string> cancelled_;
  std::set<std::string> signalled_;
};

}  // namespace hapax::generated
