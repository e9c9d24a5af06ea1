// Runs programs as workflows of hapax: one workflow, one task.
#pragma once

#include "workflow/ledger.hpp"
#include "workflow/program.hpp"

#include <hapax/hapax.hpp>

#include <functional>
#include <memory>
#include <string>

namespace hapax::generated {

// What a root, a child or the next run of either begins with.
struct RunInput {
  std::uint64_t program = 0;
  std::string chain;  // of runs: "p7", "p7#0/3"
  int op = 0;         // whose body it is
  int generation = 0;
  std::uint32_t acc = 0;
};
// One string of JSON: it is read at every replay.
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
// The same where workers die by themselves, again and again.
inline constexpr int lost_often = 1000;
inline const Task<TaskInput, std::uint32_t> sturdy_work{"work", {.max_lost = lost_often}};
inline const Workflow<RunInput, std::uint32_t> sturdy_flow{"flow", {.max_lost = lost_often}};

// What an app that runs programs needs.
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

// The setting outlives the app's workers.
void handle_programs(App& app, const std::shared_ptr<const Setting>& setting);

[[nodiscard]] RunInput root_input(const Program& program, const std::string& chain);
// Objects on the stacks of runs; none when nothing runs and nothing was left behind.
[[nodiscard]] int live_scopes();
// How often a run was put aside inside a catch block or a compensation.
[[nodiscard]] int put_aside_in_catch();

}  // namespace hapax::generated
