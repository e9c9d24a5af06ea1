// Runs programs on virtual time, in processes that die one after the other, and checks the result with the oracle.
#pragma once

#include "workflow/crash_store.hpp"
#include "workflow/program.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hapax::generated {

// A store and its clock, shared by all processes and programs of a test.
struct Stage {
  std::shared_ptr<store::Store> store;
  std::function<void(Duration)> pass;  // advances the clock
  bool transactions = true;
};

[[nodiscard]] Stage memory_stage();
[[nodiscard]] Stage sqlite_stage(const std::string& path);

// Decides where processes die.
class Plan {
 public:
  virtual ~Plan() = default;
  [[nodiscard]] virtual Death at(const Write& write) = 0;
};

[[nodiscard]] std::unique_ptr<Plan> no_deaths();
// One death, at the write of that number, counted from 1.
[[nodiscard]] std::unique_ptr<Plan> one_death(int write, Death death);
// A death at every write, before or after it as the seed draws. A write that did not take effect is repeated by the
// next process, which survives it.
[[nodiscard]] std::unique_ptr<Plan> deaths_everywhere(std::uint64_t seed);

struct Report {
  std::vector<std::string> problems;
  int writes = 0;     // writes at which a process could have died
  int processes = 1;  // processes that the program needed
};

// Runs the program under the name `chain`, which must be new on the stage.
[[nodiscard]] Report play(const Stage& stage, const std::shared_ptr<const Program>& program, const std::string& chain,
                          Plan& plan);

}  // namespace hapax::generated
