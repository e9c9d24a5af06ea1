// Shared by the rig's workloads: parameters from the environment, timing, and the line of JSON.
//
// The rig (its README says how) runs an adapter with WORKLOAD and the parameters in the environment, and reads the last
// line of standard output that begins with '{'.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace rig {

// Throws if the variable is not set.
std::string env(const char* name);
std::string env_or(const char* name, const std::string& otherwise);
int env_int(const char* name, int otherwise);

// "sqlite:$SCRATCH_DIR/hapax.db" or DATABASE_URL, as HAPAX_RIG_STORE says; migrated.
std::string fresh_store_url(const std::string& label = "hapax");

// Called after executions were enqueued: PostgreSQL's planner learns the tables' sizes, as on a server in use.
void analyze_if_postgres();

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start);
double quantile(std::vector<double>& sorted_or_not, double q);
double median(std::vector<double> values);

// {"i":42}
struct Item {
  int i = 0;
};

void enqueue_single();
void enqueue_bulk();
void drain();
void round_trip();
void dedup();
void workflow();
void workflow_tasks();
// Random arrivals, handlers and steps that sleep; latencies from the intended arrival to the result.
void open_loop();
void open_loop_workflow();

// hapax only: neither history nor backlog slows claims (run by ./dev bench, not by the rig).
void scale_history();
void scale_backlog();
void scale_cleanup();
// hapax only: many sleeping workflows; events compared with bulk enqueue; an idle ticker.
void sleepers();
void events();
void ticker_idle();

}  // namespace rig
