// Ledger: what happened in the world outside while programs ran, in whichever process.
#pragma once

#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hapax::generated {

// Who does something: a run of a root or child ("p7#0", "p7#0/3#1") or a task that a run sent ("p7#0/5").
struct EffectKey {
  std::string actor;
  int op = 0;
  friend auto operator<=>(const EffectKey&, const EffectKey&) = default;
};

// Where a run was when its cancellation was thrown.
struct Strike {
  int op = 0;
  int stage = 0;  // 0: before anything of it was there for sure; 1: its parts were started
  friend bool operator==(const Strike&, const Strike&) = default;
};

// Code that runs while an exception is being handled, or to undo what was done.
enum class Guard : char { handler = 'h', compensation = 'c' };

// Written by the interpreter, from any thread.
class Ledger {
 public:
  struct Effect {
    EffectKey key;
    Uuid execution;
    std::uint32_t acc = 0;          // what the run had computed so far
    std::vector<std::string> seen;  // what now(), random() and uuid() had given it
  };
  virtual ~Ledger() = default;
  // Something happens outside; gives back how often it had happened before.
  [[nodiscard]] virtual int effect(const Effect& effect) = 0;
  // What follows is told again by each replay, and the last time counts.
  virtual void began(const std::string& actor, const Uuid& execution) = 0;
  virtual void struck(const std::string& actor, const Strike& strike) = 0;
  virtual void patched(const std::string& actor, int op, bool patched) = 0;
  // A run comes into such code, or leaves it in whatever way.
  virtual void entered(const std::string& actor, Guard guard) = 0;
  virtual void left(const std::string& actor, Guard guard) = 0;
};

// One that happened.
struct Call {
  Ledger::Effect effect;
  int process = 0;
  int number = 0;  // over all effects
  Time at{};       // where it was looked at
};

// What the ledger has of one run.
struct ActorLog {
  Uuid execution;
  std::optional<Strike> strike;
  std::map<int, bool> patches;
};

}  // namespace hapax::generated
