// ObservedQueues: the queues of the apps that an observer sees, read when metrics are asked for.
#pragma once

#include <hapax/observer.hpp>

#include "telemetry/metrics.hpp"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hapax::telemetry {

// Any thread.
class ObservedQueues final : public Observer {
 public:
  void on_open(const ObservedApp& app) override;
  // Leaves out an app whose queues cannot be read now. Blocks.
  void write(MetricsVisitor& to) const;

 private:
  using Read = std::function<std::vector<QueueStats>()>;
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, Read>> apps_;  // by namespace; guarded by mutex_
};

}  // namespace hapax::telemetry
