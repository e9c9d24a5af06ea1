// Programs: small workflows made from a seed, as trees.
//
// The interpreter runs them through hapax, the oracle without. What a program does must not depend on when things
// happen: of several that race, one is soon and the others never, or all are timers of different lengths.
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
  signal,   // waits for one
  child,    // a workflow of its own; `body` is its function
  fan,      // starts `parts`, does `body`, then waits for all parts
  timers,   // any of `parts`, all timers
  race,     // `parts`, of which `winner` ends
  attempt,  // try `body`, catch with `handler`
  saga,     // `body`, each with its part of `undo`
  patch,    // `body` only where the code has the change
  stamp,    // now, random, uuid
  attribute,
  hang,   // waits for what never comes; only a cancellation ends it
  fail,   // throws
  go_on,  // continue_as_new, with `body` as the next run's function
};

// How the calls of a step or task go.
enum class Mode : std::uint8_t {
  ok,
  flaky,      // `count` calls fail, the next one succeeds
  failing,    // each of `count` attempts fails
  permanent,  // the first call fails for good
};

enum class Way : std::uint8_t {
  plain,
  // Signals. Each but the early ones has a name of its own.
  early,      // "e": sent at the start, several under one name
  patient,    // with a timeout that does not come
  impatient,  // with a timeout, and the signal is never sent
  late,       // with a timeout that may come first; then without
  // Children.
  loose,      // not waited for: it ends with its parent
  abandoned,  // not waited for: it goes on
  // Races.
  any,  // the losers go on
};

inline constexpr int never = -1;  // Op::ticks

struct Op {
  int id = 0;
  Kind kind = Kind::step;
  Mode mode = Mode::ok;
  Way way = Way::plain;
  int count = 0;
  int ticks = 0;          // how long, in units that whoever runs it knows
  int winner = 0;         // race
  bool rethrows = false;  // attempt
  bool atomic = false;    // step: its record is kept in its own transaction, where the store has those
  std::vector<Op> body;
  std::vector<Op> handler;
  std::vector<Op> parts;
  std::vector<std::vector<Op>> undo;
};

struct Program {
  std::uint64_t seed = 0;
  Op root;                           // a child of nobody
  std::optional<int> cancel_after;   // asked for from outside after so many turns
  std::optional<int> upgrade_after;  // so many processes have the code before the patches
  std::map<int, const Op*> by_id;

  [[nodiscard]] const Op& at(int id) const { return *by_id.at(id); }
};

// `size`: operations, about.
[[nodiscard]] std::shared_ptr<const Program> generate(std::uint64_t seed, int size = 8);
// For people who look at a failure.
[[nodiscard]] std::string to_string(const Program& program);

// A signal that somebody outside sends to a root or a child, in this order for each.
struct PlannedSignal {
  std::string name;
  std::uint32_t payload = 0;
  bool early = false;  // before the run is first claimed
};
[[nodiscard]] std::vector<PlannedSignal> signals_of(const Op& chain);
[[nodiscard]] std::uint32_t payload_of(int op);
[[nodiscard]] std::uint32_t early_payload(std::size_t index);

// What values become of values.
[[nodiscard]] inline std::uint32_t mix(std::uint32_t a, std::uint32_t b) {
  std::uint32_t hash = (a ^ 0x9e3779b9U) * 0x85ebca6bU + b * 0xc2b2ae35U;
  hash ^= hash >> 15;
  return hash;
}

}  // namespace hapax::generated
