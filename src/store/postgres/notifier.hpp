// Notifier: notifies other processes that queues may have work, from a thread and connection of its own.
//
// NOTIFY takes a cluster-wide lock at commit. So it stays out of the store's other transactions and is sent once for
// all queues that were announced meanwhile: the first at once, then at most one every 5 ms. A notification that cannot
// be sent is dropped, as listeners poll anyway. The thread starts with the first announcement. Any thread may announce.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/settings.hpp"

#include <condition_variable>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>

namespace hapax::store::postgres {

// The NOTIFY channel of a schema, unquoted.
[[nodiscard]] std::string channel_name(const Settings& settings);

class Notifier {
 public:
  explicit Notifier(const Settings& settings);
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void announce(std::span<const model::QueueRef> queues);

 private:
  void work();

  const Settings& settings_;
  const int pid_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<model::QueueRef> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hapax::store::postgres
