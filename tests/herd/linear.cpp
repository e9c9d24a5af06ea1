#include "herd/linear.hpp"

#include <algorithm>
#include <bitset>
#include <string>
#include <unordered_set>

namespace hapax::herd {
namespace {

constexpr std::size_t most_operations = 256;
constexpr std::size_t most_states = 2'000'000;

using Done = std::bitset<most_operations>;

class Search {
 public:
  explicit Search(const std::vector<Operation>& operations) : operations_(operations) {
    std::ranges::sort(operations_, {}, &Operation::begun);
  }

  Verdict run() {
    if (operations_.size() > most_operations) return Verdict::undecided;
    const bool found = go_on({}, {}, 0);
    if (found) return Verdict::linearizable;
    return seen_.size() > most_states ? Verdict::undecided : Verdict::broken;
  }

 private:
  // `latest` is the latest beginning among the operations done so far. An operation that ended before it cannot follow.
  bool go_on(Done done, State state, std::int64_t latest) {
    do_what_changes_nothing(done, state, latest);
    if (all_answered(done)) return true;
    if (seen_.size() > most_states || !seen_.insert(key_of(done, state)).second) return false;
    const std::int64_t bound = first_end(done);
    const std::string before = state.fingerprint();
    for (std::size_t index = 0; index < operations_.size() && operations_[index].begun <= bound; ++index) {
      const Operation& next = operations_[index];
      if (done[index] || next.ended < latest) continue;
      State after = state;
      if (!after.apply(next)) continue;
      // An unanswered operation that changes nothing need not be placed.
      if (!next.answered && after.fingerprint() == before) continue;
      Done with = done;
      with.set(index);
      if (go_on(with, after, std::max(latest, next.begun))) return true;
    }
    return false;
  }

  // An operation that fits now and leaves the state unchanged is done now: no other order needs it later.
  void do_what_changes_nothing(Done& done, const State& state, std::int64_t& latest) {
    const std::string before = state.fingerprint();
    for (bool again = true; again;) {
      again = false;
      const std::int64_t bound = first_end(done);
      for (std::size_t index = 0; index < operations_.size() && operations_[index].begun <= bound; ++index) {
        const Operation& next = operations_[index];
        if (done[index] || !next.answered || next.begun > last_chance(done, latest)) continue;
        State after = state;
        if (!after.apply(next) || after.fingerprint() != before) continue;
        done.set(index);
        latest = std::max(latest, next.begun);
        again = true;
      }
    }
  }

  [[nodiscard]] bool all_answered(const Done& done) const {
    for (std::size_t index = 0; index < operations_.size(); ++index) {
      if (operations_[index].answered && !done[index]) return false;
    }
    return true;
  }

  // The earliest end of the answered operations that are not done yet. Operations that begin later cannot come before
  // it.
  [[nodiscard]] std::int64_t first_end(const Done& done) const {
    std::int64_t first = never;
    for (std::size_t index = 0; index < operations_.size(); ++index) {
      if (operations_[index].answered && !done[index]) first = std::min(first, operations_[index].ended);
    }
    return first;
  }

  // Doing an operation that begins after this time would rule out an unanswered one that may still be needed.
  [[nodiscard]] std::int64_t last_chance(const Done& done, std::int64_t latest) const {
    std::int64_t first = never;
    for (std::size_t index = 0; index < operations_.size(); ++index) {
      const Operation& one = operations_[index];
      if (!one.answered && !done[index] && one.ended >= latest) first = std::min(first, one.ended);
    }
    return first;
  }

  [[nodiscard]] std::string key_of(const Done& done, const State& state) const {
    return done.to_string().substr(most_operations - operations_.size()) + state.fingerprint();
  }

  std::vector<Operation> operations_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

Verdict check_history(const std::vector<Operation>& operations) { return Search(operations).run(); }

}  // namespace hapax::herd
