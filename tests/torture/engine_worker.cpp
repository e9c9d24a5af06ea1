#include "torture/handlers.hpp"
#include "torture/roles.hpp"

#include "base/fault.hpp"
#include "engine/engine.hpp"
#include "engine/worker.hpp"

#include <hapax/error.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace hapax::torture {
namespace {

engine::Ending ending_of(const Done& done) {
  switch (done.kind) {
    case Done::Kind::completed: return engine::Ending::completed(done.result);
    case Done::Kind::retry:
    case Done::Kind::failed:
      return engine::Ending::failed(model::Failure{
          .error = Handlers::doom(), .permanent = done.kind == Done::Kind::failed, .retry_after = done.delay});
    case Done::Kind::snoozed: return engine::Ending::snoozed(done.delay);
    case Done::Kind::settled: return engine::Ending::settled();
  }
  return engine::Ending::released();
}

// Enqueues in the worker's own process. While the worker is idle, the engine may have the execution born running.
void enqueue_for_itself(engine::Engine& engine, const std::string& queue, Log& log) {
  try {
    const auto admission = engine.admit(request("plain", queue));
    log.write(Event::acknowledged, admission.id, "plain", "", admission.run);
  } catch (const StoreUnavailable& error) { log.write(Event::note, error.name()); } catch (const base::FaultInjected&) {
    log.write(Event::note, "FaultInjected");
  }
}

// A worker opens its session when it starts, and the store may be unavailable then.
template <class Start>
std::unique_ptr<engine::Worker> start_patiently(const Start& start) {
  for (int left = 300;; --left) {
    try {
      return std::make_unique<engine::Worker>(start());
    } catch (const StoreUnavailable&) {
      if (left == 0 || told_to_end()) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

}  // namespace

int run_engine_worker(const Options& options) {
  std::shared_ptr<store::Store> store = open_patiently(options);
  Log log(options.folder, options.role, options.number);
  Handlers handlers(*store, options, log);
  const auto engine = std::make_shared<engine::Engine>(store);

  engine::WorkerOptions settings;
  settings.queues.clear();
  for (const auto& queue : options.queues) settings.queues.push_back({.namespace_name = "default", .name = queue});
  settings.threads = 4;
  settings.lease = options.lease;
  settings.heartbeat = heartbeat;
  settings.grace = std::chrono::seconds(5);
  settings.name = "engine-" + std::to_string(options.number);
  settings.events.finished = [&](const model::Claim&, const model::Finish& finish, model::FinishVerdict verdict) {
    handlers.log_verdict(finish, verdict);
  };
  settings.events.trouble = [&](std::string_view) { log.write(Event::note, "trouble"); };
  const auto worker = start_patiently([&] {
    return engine::Worker(engine, settings, [&](engine::Run& run) { return ending_of(handlers.run(run.claim())); });
  });
  while (!told_to_end()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    if (!told_to_be_quiet(options)) enqueue_for_itself(*engine, options.queues.front(), log);
  }
  worker->stop();
  return 0;
}

}  // namespace hapax::torture
