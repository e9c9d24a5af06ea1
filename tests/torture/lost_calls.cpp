#include "torture/lost_calls.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace hapax::torture {
namespace {

using generated::Call;

class Judge {
 public:
  Judge(const Calls& all, const Fates& fates) : fates_(fates) {
    for (const auto& [key, calls] : all) {
      for (const Call& call : calls) calls_of_[{key.actor, call.process}].push_back(&call);
    }
  }

  [[nodiscard]] int lost(const std::string& actor, const std::vector<Call>& calls) const {
    int lost = 0;
    for (auto call = calls.begin(); call + 1 < calls.end(); ++call) lost += may_be(actor, call, calls.end()) ? 1 : 0;
    const bool all_others = static_cast<std::size_t>(lost) + 1 == calls.size();
    return lost + (all_others && may_be(actor, calls.end() - 1, calls.end()) ? 1 : 0);
  }

 private:
  using Place = std::vector<Call>::const_iterator;

  [[nodiscard]] bool may_be(const std::string& actor, Place call, Place end) const {
    if (fates_.troubled.contains(call->process)) return true;
    const auto [first, last] = fates_.losses.equal_range(call->process);
    return std::any_of(first, last, [&](const auto& loss) {
      return is_last_before(loss.second, actor, *call) &&
             std::all_of(call + 1, end, [&](const Call& later) { return later.at >= loss.second; });
    });
  }

  [[nodiscard]] bool is_last_before(Time loss, const std::string& actor, const Call& call) const {
    if (call.at > loss) return false;
    return std::ranges::none_of(calls_of_.at({actor, call.process}),
                                [&](const Call* other) { return other->number > call.number && other->at <= loss; });
  }

  const Fates& fates_;
  std::map<std::pair<std::string, int>, std::vector<const Call*>> calls_of_;  // by actor and process
};

}  // namespace

std::map<generated::EffectKey, int> lost_calls(const Calls& calls, const Fates& fates) {
  const Judge judge(calls, fates);
  std::map<generated::EffectKey, int> lost;
  for (const auto& [key, its_calls] : calls) {
    if (const int count = judge.lost(key.actor, its_calls); count > 0) lost[key] = count;
  }
  return lost;
}

void check_lost_calls() {
  const Fates fates{
      .losses = {{1, Time(Duration(50))}, {2, Time(Duration(70))}, {5, Time(Duration(20))}, {5, Time(Duration(40))}},
      .troubled = {3}};
  struct Made {
    int op;
    int process;
    int at;
  };
  const auto expect = [&](const std::vector<Made>& made, const std::map<int, int>& lost) {
    Calls calls;
    int number = 0;
    for (const Made& one : made) {
      calls[{"run", one.op}].push_back(
          {.effect = {}, .process = one.process, .number = ++number, .at = Time(Duration(one.at))});
    }
    std::map<int, int> found;
    for (const auto& [key, count] : lost_calls(calls, fates)) found[key.op] = count;
    if (found != lost)
      throw std::logic_error("lost_calls is wrong about what process " + std::to_string(made[0].process) + " did");
  };
  expect({{7, 4, 10}}, {});
  expect({{7, 4, 10}, {7, 4, 20}}, {});        // nothing happened to process 4: no reason to call again
  expect({{7, 1, 10}, {7, 4, 60}}, {{7, 1}});  // process 1 is killed, then another process calls again
  expect({{7, 1, 10}, {7, 4, 40}}, {});        // the second call came before the first process was killed
  expect({{7, 1, 10}, {7, 1, 20}, {7, 4, 60}},
         {{7, 1}});  // process 1 called again itself, so it knew its first call's outcome
  expect({{7, 1, 10}, {8, 1, 20}, {7, 4, 60}, {8, 4, 70}},
         {{8, 1}});                // process 1 went on to another effect, so the first one was recorded
  expect({{7, 1, 10}}, {{7, 1}});  // the run may have been cancelled before a second call
  expect({{7, 1, 10}, {7, 2, 60}, {7, 4, 80}}, {{7, 2}});
  expect({{7, 1, 10}, {7, 2, 40}}, {});
  expect({{7, 5, 10}, {7, 5, 30}, {7, 5, 50}}, {{7, 2}});  // process 5 survives its faults and calls again
  expect({{7, 5, 10}, {7, 5, 12}, {7, 5, 50}}, {{7, 1}});
  expect({{7, 5, 50}, {7, 5, 60}}, {});
  expect({{7, 3, 10}, {7, 3, 20}, {7, 4, 30}}, {{7, 2}});
}

}  // namespace hapax::torture
