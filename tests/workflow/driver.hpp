// Runs programs on virtual time in processes that die, one after the other, and asks the oracle.
#pragma once

#include "workflow/crash_store.hpp"
#include "workflow/program.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hapax::generated {

// A store and its clock; shared by the processes of one program after the other.
struct Stage {
  std::shared_ptr<store::Store> store;
  std::function<void(Duration)> pass;  // time
  bool transactions = true;
};

[[nodiscard]] Stage memory_stage();
[[nodiscard]] Stage sqlite_stage(const std::string& path);

// Where processes die.
class Plan {
 public:
  virtual ~Plan() = default;
  [[nodiscard]] virtual Death at(const Write& write) = 0;
};

[[nodiscard]] std::unique_ptr<Plan> no_deaths();
// One, at the write of that number, from 1.
[[nodiscard]] std::unique_ptr<Plan> one_death(int write, Death death);
// At every write: before it or after it, by the seed. A write that was not done is done by the next process, which lives on.
[[nodiscard]] std::unique_ptr<Plan> deaths_everywhere(std::uint64_t seed);

struct Report {
  std::vector<std::string> problems;
  int writes = 0;     // that a process could have died in
  int processes = 1;  // that it took
};

// Runs it under the chain's name, which nothing on the stage had before.
[[nodiscard]] Report play(const Stage& stage, const std::shared_ptr<const Program>& program, const std::string& chain,
                          Plan& plan);

}  // namespace hapax::generated
