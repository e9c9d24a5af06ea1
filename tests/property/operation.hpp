// One operation of a property test: a kind of call and a number from which its details are drawn.
//
// Details are drawn when the operation runs, from what has happened so far (the third known execution, one of the
// earlier claims). So any subsequence of operations is valid, which shrinking needs.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include <rapidcheck.h>

namespace hapax::property {

enum class Act : std::uint8_t {
  admit,
  claim,
  finish,
  exchange,
  open_session,
  beat,
  close_session,
  advance,
  sweep,
  cancel,
  retry,
  discard,
  annotate,
  configure,
  purge,
  move,
  journal,
};

struct Operation {
  Act act = Act::admit;
  std::uint64_t number = 0;
};

std::ostream& operator<<(std::ostream& out, const Operation& operation);

// Draws details from an operation's number. The simplest choice is always 0.
class Dice {
 public:
  explicit Dice(std::uint64_t number) : number_(number) {}

  // Returns 0 to sides - 1.
  int roll(int sides) {
    const auto drawn = static_cast<int>(number_ % static_cast<std::uint64_t>(sides));
    number_ /= static_cast<std::uint64_t>(sides);
    return drawn;
  }
  bool one_in(int sides) { return roll(sides) == sides - 1; }

 private:
  std::uint64_t number_;
};

// Sequences start with work and workers, so that few of them do nothing.
[[nodiscard]] rc::Gen<std::vector<Operation>> operations();

}  // namespace hapax::property
