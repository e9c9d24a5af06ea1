#include "herd/roles.hpp"
#include "herd/stage.hpp"

#include "base/uuid7.hpp"
#include "torture/roles.hpp"

#include <hapax/app.hpp>
#include <hapax/error.hpp>

#include <thread>

namespace hapax::herd {
namespace {

using torture::Event;

// The handler waits while the scene checks the state of a running execution.
void wait_for_leave(const torture::Options& options, const nlohmann::json& plan) {
  if (!plan.value("slow", false)) return;
  while (!was_signalled(options.folder, "finish") && !torture::told_to_end()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// One effect inline and one by a task, both logged under the ID of the execution that caused them.
void handle_workflow(App& app, const torture::Options& options, torture::Log& log, const nlohmann::json& plan) {
  const Task<std::string, std::string> task{"shipment", {.queue = options.queues.back()}};
  app.handle(task, [&log](TaskContext& context, const std::string&) {
    log.write(Event::started, context.execution_id(), context.fence());
    return base::new_uuid7().to_string();
  });
  app.handle_workflow_json(task_of(workflow_name, options.queues.front()),
                           [&log, &options, plan, task](WorkflowContext& context, const std::string&) {
                             context.step("effect", [&] {
                               log.write(Event::started, context.execution_id(), 0);
                               wait_for_leave(options, plan);
                             });
                             return "\"" + context.run(task, "an order") + "\"";
                           });
}

}  // namespace

int run_worker(const torture::Options& options) {
  const nlohmann::json plan = read_plan(options.folder);
  torture::Log log(options.folder, options.role, options.number);
  App app = hapax::open(options.url);
  // A store handle of its own: while a handler runs, started_at is the time of the claim.
  const auto store = store::open(options.url);
  const bool tell_claims = plan.value("tell_claims", false);
  for (const std::string name : plan.at("tasks")) {
    app.handle_json(task_of(name, options.queues.front()), [&, name](TaskContext& context, const std::string&) {
      std::int64_t claimed_at = 0;
      if (tell_claims) {
        const auto seen = store->get(context.execution_id());
        if (seen && seen->started_at) claimed_at = seen->started_at->time_since_epoch().count();
      }
      log.write(Event::started, context.execution_id(), context.fence(), context.queue(), claimed_at);
      wait_for_leave(options, plan);
      return "\"" + base::new_uuid7().to_string() + "\"";
    });
  }
  if (plan.value("task", "") == workflow_name) handle_workflow(app, options, log, plan);
  WorkerOptions worker_options;
  worker_options.queues = options.queues;
  worker_options.threads = plan.value("threads", 8);
  const Worker worker = app.work(worker_options);
  log.write(Event::note, "working");
  while (!torture::told_to_end()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return 0;
}

}  // namespace hapax::herd
