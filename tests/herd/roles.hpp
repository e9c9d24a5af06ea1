// The roles of child processes. Each function returns the process's exit code.
#pragma once

#include "torture/options.hpp"

#include <hapax/activity.hpp>
#include <hapax/task.hpp>
#include <hapax/workflow.hpp>

#include <string>

namespace hapax::herd {

// Sends the same request from many threads at one instant, and waits for the result.
int run_asker(const torture::Options& options);
// Takes an identity in a transaction and rolls it back when signalled, or is killed before.
int run_holder(const torture::Options& options);
// Runs the requested executions, as programs do.
int run_worker(const torture::Options& options);
// Random operations on many identities, each logged with its times and its answer.
int run_player(const torture::Options& options);
// Claims and finishes through the store interface, from queues with limits.
int run_claimer(const torture::Options& options);
// Admits executions with limit keys, one after the other.
int run_feeder(const torture::Options& options);
// A worker of the build that its role names; each build has its own version of the order workflow.
int run_build(const torture::Options& options);

// A worker without tasks: its process only runs schedules.
int run_ticker(const torture::Options& options);
// Sends the events of its scene's plan: all of them singly, or its part of them in batches.
int run_sender(const torture::Options& options);

// The task that the scenes' activities start.
inline const Task<Fired<nlohmann::json>> tick_task{"tick", {.queue = "ticks"}};

inline const Workflow<std::string, std::string> order_workflow{"order"};
inline constexpr const char* first_build = "build-a";
inline constexpr const char* other_build = "build-b";    // one step has another name
inline constexpr const char* patched_build = "build-c";  // the first build, with one more step behind a patch

// A workflow with an effect of its own and a task; requested by its workflow_id.
inline constexpr const char* workflow_name = "workflow";

// The task that a scene requests; its name says by what requests are identical.
[[nodiscard]] TaskSpec task_of(const std::string& name, const std::string& queue);
// Spellings of one value, which must all give the same identity.
[[nodiscard]] std::string spelled_input(const std::string& order, int spelling);

}  // namespace hapax::herd
