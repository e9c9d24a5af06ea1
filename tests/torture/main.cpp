// The torture program. Without --role it is the controller; options.cpp describes the command line.
#include "torture/controller.hpp"
#include "torture/options.hpp"
#include "torture/roles.hpp"
#include "torture/workflows.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  using namespace hapax::torture;
  const Options options = parse_options(argc, argv);
  try {
    if (options.role.empty() && options.programs > 0) return Workflows(options).run();
    if (options.role.empty()) return Controller(options).run();
    prepare_child();
    if (options.role == "producer") return run_producer(options);
    if (options.role == "engine-producer") return run_engine_producer(options);
    if (options.role == "worker") return run_raw_worker(options);
    if (options.role == "engine-worker") return run_engine_worker(options);
    if (options.role == "workflow-worker") return run_workflow_worker(options);
    std::fprintf(stderr, "torture: unknown role %s\n", options.role.c_str());
    return 64;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "torture: %s\n", error.what());
    return 1;
  }
}
