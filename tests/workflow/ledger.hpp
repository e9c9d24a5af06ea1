// Ledger: the effects that programs have on the world outside, in whichever process they run.
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

// The operation and its actor: a run of a root or child ("p7#0", "p7#0/3#1"), or a task that a run sent ("p7#0/5").
struct EffectKey {
  std::string actor;
  int op = 0;
  friend auto operator<=>(const EffectKey&, const EffectKey&) = default;
};

// The place of a run at which its cancellation was thrown.
struct Strike {
  int op = 0;
  int stage = 0;  // 0: before any part of the operation surely existed; 1: after its parts were started
  friend bool operator==(const Strike&, const Strike&) = default;
};

// Code that runs while an exception is handled, or to undo earlier work.
enum class Guard : char { handler = 'h', compensation = 'c' };

// Interface that the interpreter calls, from any thread.
class Ledger {
 public:
  struct Effect {
    EffectKey key;
    Uuid execution;
    std::uint32_t acc = 0;          // what the run had computed so far
    std::vector<std::string> seen;  // what now(), random() and uuid() had given it
  };
  virtual ~Ledger() = default;
  // Records an effect. Returns how often the same effect had happened before.
  [[nodiscard]] virtual int effect(const Effect& effect) = 0;
  // Every replay calls the following again; the last call counts.
  virtual void began(const std::string& actor, const Uuid& execution) = 0;
  virtual void struck(const std::string& actor, const Strike& strike) = 0;
  virtual void patched(const std::string& actor, int op, bool patched) = 0;
  // A run enters a handler or compensation, or leaves it, normally or by an exception.
  virtual void entered(const std::string& actor, Guard guard) = 0;
  virtual void left(const std::string& actor, Guard guard) = 0;
};

// An effect that happened.
struct Call {
  Ledger::Effect effect;
  int process = 0;
  int number = 0;  // position among all effects
  Time at{};       // time of the call; set by file ledgers only
};

// The ledger's entries for one run.
struct ActorLog {
  Uuid execution;
  std::optional<Strike> strike;
  std::map<int, bool> patches;
};

}  // namespace hapax::generated
