// MemoryLedger: a ledger in the test's own process. Any thread may call it.
#pragma once

#include "workflow/ledger.hpp"
#include "workflow/oracle.hpp"

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hapax::generated {

class MemoryLedger final : public Ledger {
 public:
  [[nodiscard]] int effect(const Effect& effect) override {
    const std::lock_guard lock(mutex_);
    if (sealed_.contains(effect.key)) {
      problems_.push_back("operation " + std::to_string(effect.key.op) + " of " + effect.key.actor +
                          " happened again although it was recorded");
    }
    return add({.effect = effect, .process = process_});
  }
  void began(const std::string& actor, const Uuid& execution) override {
    const std::lock_guard lock(mutex_);
    const auto [found, fresh] = runs_.try_emplace(actor);
    if (!fresh && found->second.execution != execution) { problems_.push_back(actor + " began as two executions"); }
    found->second.execution = execution;
  }
  void struck(const std::string& actor, const Strike& strike) override {
    const std::lock_guard lock(mutex_);
    runs_[actor].strike = strike;
  }
  void patched(const std::string& actor, int op, bool patched) override {
    const std::lock_guard lock(mutex_);
    runs_[actor].patches[op] = patched;
  }
  void entered(const std::string&, Guard) override {}
  void left(const std::string&, Guard) override {}

  // Adds a call that another process has recorded. Calls are added in the order in which they were made.
  void copy(Call call) {
    const std::lock_guard lock(mutex_);
    (void)add(std::move(call));
  }

  // The store's records of one effect.
  struct Recorded {
    int calls = 0;         // recorded calls, failed ones included
    bool settled = false;  // no further call will be recorded
  };
  // Called when the process has died, which did one thing at a time: at most one call may be unknown to the store.
  template <class RecordedOf>
  void bury(RecordedOf recorded_of) {
    const std::lock_guard lock(mutex_);
    int lost = 0;
    for (const auto& [key, calls] : calls_) {
      if (calls.back().process != process_ || sealed_.contains(key)) { continue; }
      const Recorded recorded = recorded_of(key, calls.back().effect.execution);
      if (recorded.settled) { sealed_.insert(key); }
      const int unknown = static_cast<int>(calls.size()) - recorded.calls;
      lost += unknown - lost_[key];
      lost_[key] = unknown;
    }
    if (lost > 1) { problems_.push_back("a process died before " + std::to_string(lost) + " calls were recorded"); }
    ++process_;
  }
  [[nodiscard]] int process() const { return process_; }

  [[nodiscard]] std::map<std::string, ActorLog> runs() const {
    const std::lock_guard lock(mutex_);
    return runs_;
  }
  [[nodiscard]] std::vector<std::string> problems() const {
    const std::lock_guard lock(mutex_);
    return problems_;
  }
  // Copies what one program did: for "p7" everything of actors that begin with "p7#".
  void observe(const std::string& chain, Observed& into) const {
    const std::lock_guard lock(mutex_);
    const std::string stem = chain + "#";
    for (auto next = runs_.lower_bound(stem); next != runs_.end() && next->first.starts_with(stem); ++next) {
      into.runs[next->first].log = next->second;
    }
    const EffectKey first{stem, 0};
    for (auto next = calls_.lower_bound(first); next != calls_.end() && next->first.actor.starts_with(stem); ++next) {
      into.calls.insert(*next);
    }
    for (auto next = lost_.lower_bound(first); next != lost_.end() && next->first.actor.starts_with(stem); ++next) {
      into.lost.insert(*next);
    }
  }

 private:
  // The caller holds mutex_.
  int add(Call call) {
    call.number = ++number_;
    std::vector<Call>& calls = calls_[call.effect.key];
    calls.push_back(std::move(call));
    return static_cast<int>(calls.size()) - 1;
  }

  mutable std::mutex mutex_;
  std::map<std::string, ActorLog> runs_;
  std::map<EffectKey, std::vector<Call>> calls_;
  std::map<EffectKey, int> lost_;
  std::set<EffectKey> sealed_;
  std::vector<std::string> problems_;
  int process_ = 0;
  int number_ = 0;
};

}  // namespace hapax::generated
