// The state that all connections of one server share.
#pragma once

#include "http/observer.hpp"
#include "http/server.hpp"
#include "http/store_threads.hpp"
#include "http/tls.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace hapax::http {

// Owned by the server and by its connections until the last one ends. Any thread.
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

  [[nodiscard]] std::shared_ptr<const ServerTlsContext> tls() const {
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
  std::condition_variable emptied;                      // the last connection has ended
  std::shared_ptr<const ServerTlsContext> tls_context;  // under mutex; null: no TLS
};

}  // namespace hapax::http
