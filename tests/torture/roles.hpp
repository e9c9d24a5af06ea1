// The roles of child processes. Each function runs until SIGTERM and returns the process's exit code.
#pragma once

#include "torture/options.hpp"

#include "store/open.hpp"

#include <memory>
#include <string>

namespace hapax::torture {

// Enqueues through the store interface: singly, in batches, keyed, and in transactions with its own rows. Also cancels
// and reads outcomes.
int run_producer(const Options& options);
// Enqueues from several threads through the engine's batcher.
int run_engine_producer(const Options& options);
// Claims, runs and finishes through the store interface, without the engine: tests the store alone.
int run_raw_worker(const Options& options);
// The engine's worker, as programs use it.
int run_engine_worker(const Options& options);
// An app's worker with generated workflows, as programs use it.
int run_workflow_worker(const Options& options);

// Whether SIGTERM was received.
[[nodiscard]] bool told_to_end();
// Whether workers must stop enqueueing, because the controller waits for the end of all work.
[[nodiscard]] bool told_to_be_quiet(const Options& options);
void tell_to_be_quiet(const std::string& folder);
// Makes the process die with the controller and end on SIGTERM.
void prepare_child();
// Opens the store; tries for 30 s, as it may be unavailable when a child starts.
[[nodiscard]] std::unique_ptr<store::Store> open_patiently(const Options& options);

}  // namespace hapax::torture
