// What all connections of one server share.
#pragma once

#include "server/observer.hpp"
#include "server/server.hpp"
#include "server/store_threads.hpp"
#include "server/tls.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace hapax::server {

// Owned by the server and, until the last of them is gone, by its connections. Any thread.
struct ServerState {
  ServerState(ServerOptions with, Router routes, std::shared_ptr<Authenticator> who, Metrics& metrics)
      : options(std::move(with)),
        router(std::move(routes)),
        authenticator(std::move(who)),
        observer(metrics, router, options.log),
        store_threads(options.store_threads) {}

  const ServerOptions options;
  const Router router;
  const std::shared_ptr<Authenticator> authenticator;
  Observer observer;
  StoreThreads store_threads;

  [[nodiscard]] std::shared_ptr<const TlsContext> tls() const {
    const std::lock_guard lock(mutex);
    return tls_context;
  }

  // One connection has ended.
  void gone() {
    observer.connections.add(-1);
    if (connections.fetch_sub(1) == 1) {
      const std::lock_guard lock(mutex);
      emptied.notify_all();
    }
  }

  std::atomic<std::size_t> connections{0};
  std::atomic<bool> draining{false};

  mutable std::mutex mutex;
  std::condition_variable emptied;                // the last connection is gone
  std::shared_ptr<const TlsContext> tls_context;  // under mutex; null: no TLS
};

}  // namespace hapax::server
