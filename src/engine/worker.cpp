#include "engine/worker.hpp"

#include "engine/worker_core.hpp"

namespace hapax::engine {

Worker::Worker(std::shared_ptr<Engine> engine, WorkerOptions options, Handler handler)
    : core_(std::make_shared<WorkerCore>(std::move(engine), std::move(options), std::move(handler))) {
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
void Worker::tell_stuck(Duration patience, std::function<void(std::string_view)> on_stuck) {
  core_->tell_stuck(patience, std::move(on_stuck));
}
WorkerStats Worker::stats() const { return core_->stats(); }
Uuid Worker::session() const { return core_->session(); }
const WorkerOptions& Worker::options() const { return core_->options(); }

}  // namespace hapax::engine
