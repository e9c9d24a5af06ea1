#include "herd/roles.hpp"
#include "herd/stage.hpp"

#include "torture/roles.hpp"

#include <hapax/hapax.hpp>

#include <thread>

namespace hapax::herd {
namespace {

using torture::Event;

std::string first_step(const std::string& build) { return build == other_build ? "charge-card" : "charge"; }

}  // namespace

int run_build(const torture::Options& options) {
  const std::string build = options.role;
  torture::Log log(options.folder, build, options.number);
  App app = hapax::open(options.url);
  app.handle(order_workflow, [&log, build](WorkflowContext& ctx, const std::string& id) {
    log.write(Event::note, "met", id, build);
    const auto effect = [&](const std::string& name) {
      ctx.step(name, [&] { log.write(Event::note, name, id, build); });
    };
    effect(first_step(build));
    if (build == patched_build && ctx.patched("audit")) effect("audit");
    ctx.wait_signal<int>("go");
    effect("ship");
    return build;
  });
  const Worker worker = app.work({.queues = options.queues, .threads = 2, .lease = options.lease, .build = build});
  log.write(Event::note, "working", "", build);
  while (!torture::told_to_end()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return 0;
}

}  // namespace hapax::herd
