#include "telemetry/observed_queues.hpp"

#include "telemetry/metrics_observer.hpp"

#include <exception>
#include <functional>

namespace hapax::telemetry {

namespace {

// A program that opens and closes apps again and again observes the last ones.
constexpr std::size_t apps_most = 100;

}  // namespace

void ObservedQueues::on_open(const ObservedApp& app) {
  const std::lock_guard lock(mutex_);
  if (apps_.size() >= apps_most) { apps_.erase(apps_.begin()); }
  apps_.emplace_back(app.namespace_name, app.queues);
}

void ObservedQueues::write(MetricsVisitor& to) const {
  std::vector<std::pair<std::string, Read>> apps;
  {
    const std::lock_guard lock(mutex_);
    apps = apps_;
  }
  std::vector<QueueFigures> figures;
  for (const auto& [namespace_name, read] : apps) {
    try {
      for (const QueueStats& stats : read()) {
        figures.push_back({.namespace_name = namespace_name,
                           .queue = stats.queue,
                           .ready = stats.ready,
                           .delayed = stats.delayed,
                           .parked = stats.parked,
                           .running = stats.running,
                           .dead = stats.dead,
                           .oldest_ready = stats.oldest_ready.value_or(Duration::zero()),
                           .paused = stats.paused});
      }
    } catch (const std::exception&) { continue; }  // a closed app, or a store that is away
  }
  write_queues(to, figures);
}

}  // namespace hapax::telemetry
