// Programs: small workflows generated from a seed, as trees of operations.
//
// The interpreter runs them through hapax, the oracle without it. A program's result must not depend on timing: of
// parts that race, one ends soon and the others never, or all are timers of different lengths.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hapax::generated {

enum class Kind : std::uint8_t {
  step,
  task,
  sleep,    // as a part: a timer
  signal,   // waits for one signal
  child,    // a child workflow; `body` is its function
  fan,      // starts `parts`, does `body`, then waits for all parts
  timers,   // waits for any of `parts`, all of them timers
  race,     // `parts`, of which number `winner` ends first
  attempt,  // try `body`, catch with `handler`
  saga,     // `body`, each operation with its block of `undo`
  patch,    // runs `body` only if the code has the change
  stamp,    // calls now, random and uuid
  attribute,
  hang,   // waits for a signal that never comes; only a cancellation ends it
  fail,   // throws
  go_on,  // continue_as_new, with `body` as the next run's function
};

// How the calls of a step or task end.
enum class Mode : std::uint8_t {
  ok,
  flaky,      // `count` calls fail, the next one succeeds
  failing,    // each of `count` attempts fails
  permanent,  // the first call fails for good
};

enum class Way : std::uint8_t {
  plain,
  // Signals. Each has its own name, except early ones.
  early,      // named "e" and sent at the start; several share the name
  patient,    // waits with a timeout that does not expire
  impatient,  // waits with a timeout; the signal is never sent
  late,       // waits with a timeout that may expire, and then without one
  // Children.
  loose,      // not waited for; ends with its parent
  abandoned,  // not waited for; outlives its parent
  // Races.
  any,  // the losers are not cancelled
};

inline constexpr int never = -1;  // a value of Op::ticks

struct Op {
  int id = 0;
  Kind kind = Kind::step;
  Mode mode = Mode::ok;
  Way way = Way::plain;
  int count = 0;
  int ticks = 0;          // length of a timer or delay, in Setting::tick
  int winner = 0;         // race: index of the part that ends first
  bool rethrows = false;  // attempt: the handler throws again
  bool atomic = false;    // step: recorded in a transaction of its own, where the store has transactions
  std::vector<Op> body;
  std::vector<Op> handler;
  std::vector<Op> parts;
  std::vector<std::vector<Op>> undo;
};

struct Program {
  std::uint64_t seed = 0;
  Op root;                           // a child without a parent
  std::optional<int> cancel_after;   // turns until a cancellation is requested from outside
  std::optional<int> upgrade_after;  // number of processes that run the code without the patches
  std::map<int, const Op*> by_id;

  [[nodiscard]] const Op& at(int id) const { return *by_id.at(id); }
};

// `size` is the approximate number of operations.
[[nodiscard]] std::shared_ptr<const Program> generate(std::uint64_t seed, int size = 8);
// Text of a program, for failure messages.
[[nodiscard]] std::string to_string(const Program& program);

// A signal that is sent to a root or a child from outside, in this order for each.
struct PlannedSignal {
  std::string name;
  std::uint32_t payload = 0;
  bool early = false;  // sent before the run is first claimed
};
[[nodiscard]] std::vector<PlannedSignal> signals_of(const Op& chain);
[[nodiscard]] std::uint32_t payload_of(int op);
[[nodiscard]] std::uint32_t early_payload(std::size_t index);

// Hash of two values, which depends on their order.
[[nodiscard]] inline std::uint32_t mix(std::uint32_t a, std::uint32_t b) {
  std::uint32_t hash = (a ^ 0x9e3779b9U) * 0x85ebca6bU + b * 0xc2b2ae35U;
  hash ^= hash >> 15;
  return hash;
}

}  // namespace hapax::generated
