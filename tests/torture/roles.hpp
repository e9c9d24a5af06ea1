// The parts that child processes play. Each runs until SIGTERM and returns the process's exit code.
#pragma once

#include "torture/options.hpp"

#include "store/open.hpp"

#include <memory>
#include <string>

namespace hapax::torture {

// Enqueues on the seam, singly, in batches, keyed, and in transactions with its own rows; cancels and looks at outcomes.
int run_producer(const Options& options);
// Enqueues from several threads through the engine's group commit.
int run_engine_producer(const Options& options);
// Claims, runs and finishes on the seam itself, without the engine: what the store alone promises.
int run_raw_worker(const Options& options);
// The engine's worker, as programs use it.
int run_engine_worker(const Options& options);
// An app's worker with generated workflows, as programs use it.
int run_workflow_worker(const Options& options);

// Set by SIGTERM.
[[nodiscard]] bool told_to_end();
// The controller waits for the end of all work: workers that also enqueue leave that off.
[[nodiscard]] bool told_to_be_quiet(const Options& options);
void tell_to_be_quiet(const std::string& folder);
// Dies with the controller, ends on SIGTERM.
void prepare_child();
// A store may be away when a child starts: tries for half a minute.
[[nodiscard]] std::unique_ptr<store::Store> open_patiently(const Options& options);

}  // namespace hapax::torture
