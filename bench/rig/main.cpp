// The program behind bench/rig/adapters/: runs the workload that WORKLOAD names.
#include "rig.hpp"

#include <functional>
#include <iostream>
#include <map>

namespace {

const std::map<std::string, std::function<void()>> workloads = {
    {"enqueue-single", rig::enqueue_single},
    {"enqueue-bulk", rig::enqueue_bulk},
    {"drain", rig::drain},
    {"round-trip", rig::round_trip},
    {"dedup", rig::dedup},
    {"workflow", rig::workflow},
    {"workflow-tasks", rig::workflow_tasks},
    {"open-loop", rig::open_loop},
    {"open-loop-workflow", rig::open_loop_workflow},
    {"sleepers", rig::sleepers},
    {"events", rig::events},
    {"ticker-idle", rig::ticker_idle},
    {"scale-history", rig::scale_history},
    {"scale-backlog", rig::scale_backlog},
    {"scale-cleanup", rig::scale_cleanup},
};

void describe() {
  const bool sqlite = rig::env_or("HAPAX_RIG_STORE", "sqlite") == "sqlite";
  std::cout
      << R"({"servers":[")" << (sqlite ? "none" : "postgres")
      << R"("],"workloads":["enqueue-single","enqueue-bulk","drain","round-trip","dedup","workflow"],"settings":")"
      << (sqlite ? "SQLite WAL, synchronous FULL, in process" : "one pool, group commit in process")
      << R"(; defaults; history kept (retention 7d); W5: task_id, return_existing; W6: inline steps"})"
      << "\n";
}

}  // namespace

int main() {
  try {
    const std::string name = rig::env("WORKLOAD");
    if (name == "describe") {
      describe();
      return 0;
    }
    const auto found = workloads.find(name);
    if (found == workloads.end()) throw std::runtime_error("no such workload: " + name);
    found->second();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
