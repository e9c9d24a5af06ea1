#include "engine/worker.hpp"

#include "base/limits.hpp"
#include "engine/worker_core.hpp"
#include "model/validate.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

namespace hapax::engine {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("localhost");
}

namespace {

// Checks the options and fills in defaults.
WorkerOptions complete(WorkerOptions options) {
  if (options.queues.empty()) { throw InvalidArgument("queues", "a worker needs at least one queue"); }
  if (options.queues.size() > limits::queues_per_claim) {
    throw InvalidArgument("queues", std::to_string(options.queues.size()) + " queues, the limit is " +
                                        std::to_string(limits::queues_per_claim));
  }
  for (const model::QueueRef& queue : options.queues) {
    model::check_name(queue.namespace_name, "namespace");
    model::check_name(queue.name, "queue");
  }
  if (options.tasks.size() > limits::tasks_per_claim) {
    throw InvalidArgument("tasks", std::to_string(options.tasks.size()) + " tasks, the limit is " +
                                       std::to_string(limits::tasks_per_claim));
  }
  if (options.threads < 0 || options.threads > limits::worker_threads) {
    throw InvalidArgument(
        "threads", std::to_string(options.threads) + ", expected 0 to " + std::to_string(limits::worker_threads));
  }
  if (options.threads == 0) { options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }
  if (options.lease < limits::lease_min || options.lease > limits::lease_max) {
    throw InvalidArgument("lease", format_duration(options.lease) + ", expected " + format_duration(limits::lease_min) +
                                       " to " + format_duration(limits::lease_max));
  }
  if (!options.heartbeat) { options.heartbeat = options.lease / 3; }
  if (*options.heartbeat <= Duration::zero() || *options.heartbeat * 3 > options.lease) {
    throw InvalidArgument("heartbeat", format_duration(*options.heartbeat) +
                                           ", expected at most a third of the lease (" +
                                           format_duration(options.lease) + ")");
  }
  if (options.grace < Duration::zero()) { throw InvalidArgument("grace", "expected a duration that is not negative"); }
  if (options.prefetch < 0) {
    throw InvalidArgument("prefetch", std::to_string(options.prefetch) + ", expected 0 or more");
  }
  if (options.name.empty()) { options.name = host_name() + "-" + std::to_string(getpid()); }
  model::check_name(options.name, "name");
  for (const std::string& task : options.tasks) { model::check_name(task, "tasks"); }
  return options;
}

}  // namespace

Worker::Worker(std::shared_ptr<Engine> engine, WorkerOptions options, Handler handler)
    : core_(std::make_shared<WorkerCore>(engine, std::shared_ptr<store::WorkStore>(engine, &engine->store()),
                                         complete(std::move(options)), std::move(handler))) {
  core_->start();
}

Worker::Worker(std::shared_ptr<store::WorkStore> store, WorkerOptions options, Handler handler)
    : core_(std::make_shared<WorkerCore>(nullptr, std::move(store), complete(std::move(options)), std::move(handler))) {
  core_->start();
}

Worker::Worker(Worker&&) noexcept = default;

Worker& Worker::operator=(Worker&& other) noexcept {
  if (this != &other) {
    if (core_) { core_->stop(core_->options().grace); }
    core_ = std::move(other.core_);
  }
  return *this;
}

Worker::~Worker() {
  if (core_) { core_->stop(core_->options().grace); }
}

void Worker::stop() { core_->stop(core_->options().grace); }
void Worker::stop(Duration grace) { core_->stop(grace); }
bool Worker::wait_until_empty(std::optional<Duration> at_most) { return core_->wait_until_empty(at_most); }
void Worker::set_tasks(std::vector<std::string> tasks) { core_->set_tasks(std::move(tasks)); }
void Worker::report_stuck(Duration patience, std::function<void(std::string_view)> on_stuck) {
  core_->report_stuck(patience, std::move(on_stuck));
}
WorkerStats Worker::stats() const { return core_->stats(); }
Uuid Worker::session() const { return core_->session(); }
const WorkerOptions& Worker::options() const { return core_->options(); }

}  // namespace hapax::engine
