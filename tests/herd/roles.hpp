// The parts that child processes play. Each returns the process's exit code.
#pragma once

#include "torture/options.hpp"

#include <hapax/activity.hpp>
#include <hapax/task.hpp>
#include <hapax/workflow.hpp>

#include <string>

namespace hapax::herd {

// Asks for the same from many threads at one instant, and waits for the result.
int run_asker(const torture::Options& options);
// Takes an identity in a transaction, and rolls it back when told to; or is killed before.
int run_holder(const torture::Options& options);
// Runs what was asked for, as programs do.
int run_worker(const torture::Options& options);
// Random operations on many identities, each told with its instants and its answer.
int run_player(const torture::Options& options);
// Claims and finishes on the seam itself, from queues with limits.
int run_claimer(const torture::Options& options);
// Admits executions with limit keys, one after the other.
int run_feeder(const torture::Options& options);
// A worker of a build, named by its role, that has its own idea of the order workflow.
int run_build(const torture::Options& options);

// A worker whose process sees to schedules; it has nothing else to do.
int run_ticker(const torture::Options& options);
// Sends the events of its scene's plan: all of them one by one, or its part of them in batches.
int run_sender(const torture::Options& options);

// What activities of the scenes run.
inline const Task<Fired<nlohmann::json>> tick_task{"tick", {.queue = "ticks"}};

inline const Workflow<std::string, std::string> order_workflow{"order"};
inline constexpr const char* first_build = "build-a";
inline constexpr const char* other_build = "build-b";    // a step of it has another name
inline constexpr const char* patched_build = "build-c";  // as the first one, with one more step behind a patch

// A workflow that has an effect of its own and sends a task; asked for by its workflow_id.
inline constexpr const char* workflow_name = "workflow";

// The task a scene asks for; its name says by what requests are the same.
[[nodiscard]] TaskSpec task_of(const std::string& name, const std::string& queue);
// The same value in several spellings: they must not matter.
[[nodiscard]] std::string spelled_input(const std::string& order, int spelling);

}  // namespace hapax::herd
