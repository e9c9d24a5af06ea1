// Runs programs as hapax workflows, with one workflow and one task definition for all programs.
#pragma once

#include "workflow/ledger.hpp"
#include "workflow/program.hpp"

#include <hapax/hapax.hpp>

#include <functional>
#include <memory>
#include <string>

namespace hapax::generated {

// The input of a root, of a child, and of the next run of either.
struct RunInput {
  std::uint64_t program = 0;
  std::string chain;  // name of the chain of runs: "p7", "p7#0/3"
  int op = 0;         // the operation whose body this run executes
  int generation = 0;
  std::uint32_t acc = 0;
};
// Written as one JSON string, because every replay parses it.
void to_json(nlohmann::json& json, const RunInput& input);
void from_json(const nlohmann::json& json, RunInput& input);

struct TaskInput {
  std::uint64_t program = 0;
  std::string actor;
  int op = 0;
  std::uint32_t acc = 0;
};
void to_json(nlohmann::json& json, const TaskInput& input);
void from_json(const nlohmann::json& json, TaskInput& input);

inline const Task<TaskInput, std::uint32_t> work{"work"};
inline const Workflow<RunInput, std::uint32_t> flow{"flow"};
// For tests whose workers are killed again and again from outside.
inline constexpr int lost_often = 1000;
inline const Task<TaskInput, std::uint32_t> sturdy_work{"work", {.max_lost = lost_often}};
inline const Workflow<RunInput, std::uint32_t> sturdy_flow{"flow", {.max_lost = lost_often}};

// Everything that an app needs to run programs.
struct Setting {
  Ledger& ledger;
  std::function<std::shared_ptr<const Program>(std::uint64_t seed)> find;
  Duration tick;
  Duration forever;
  Duration retry = std::chrono::seconds(1);
  bool upgraded = true;  // the code has the patches
  bool sturdy = false;
  bool transactions = true;  // the store has them
};

// The app's handlers share `setting`, whose ledger must outlive the app's workers.
void handle_programs(App& app, const std::shared_ptr<const Setting>& setting);

[[nodiscard]] RunInput root_input(const Program& program, const std::string& chain);
// The number of LiveScope objects on the stacks of runs: 0 when no run is in memory and unwinding has left nothing.
[[nodiscard]] int live_scopes();
// How often a run was evicted inside a catch block or a compensation.
[[nodiscard]] int put_aside_in_catch();

}  // namespace hapax::generated
