#include "http/server.hpp"

#include "http/listener.hpp"

#include <algorithm>
#include <csignal>
#include <thread>

namespace hapax::http {

namespace {

// After the grace all sockets are shut down; connections that are still open then wait for the store at most this long.
constexpr std::chrono::seconds last_patience{5};
constexpr int most_threads_by_default = 4;
constexpr int usual_store_threads = 16;

ServerOptions completed(ServerOptions options) {
  if (options.threads <= 0) {
    options.threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_threads_by_default);
  }
  if (options.store_threads <= 0) { options.store_threads = usual_store_threads; }
  return options;
}

}  // namespace

struct Server::Impl {
  Impl(ServerOptions options, Router router, std::shared_ptr<Authenticator> authenticator, Metrics& metrics)
      : state(std::make_shared<ServerState>(completed(std::move(options)), std::move(router), std::move(authenticator),
                                            metrics)) {}

  [[nodiscard]] std::shared_ptr<const ServerTlsContext> load_tls() const {
    const ServerOptions& options = state->options;
    if (options.tls_certificate.empty() && options.tls_key.empty()) { return nullptr; }
    if (options.tls_certificate.empty() || options.tls_key.empty()) {
      throw ConfigurationError(
          options.tls_key.empty()
              ? "--tls-cert " + options.tls_certificate + ": is given without --tls-key; they go together"
              : "--tls-key " + options.tls_key + ": is given without --tls-cert; they go together");
    }
    return std::make_shared<const ServerTlsContext>(options.tls_certificate, options.tls_key);
  }

  std::shared_ptr<ServerState> state;
  std::vector<std::shared_ptr<EventLoop>> loops;
  std::vector<std::unique_ptr<Listener>> listeners;
  bool started = false;
  bool stopped = false;
  bool stuck = false;
};

Server::Server(ServerOptions options, Router router, std::shared_ptr<Authenticator> authenticator, Metrics& metrics)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(router), std::move(authenticator), metrics)) {}

Server::~Server() {
  if (impl_->started && !impl_->stopped) { (void)stop(Duration::zero()); }
}

void Server::start() {
  Impl& impl = *impl_;
  ServerState& state = *impl.state;
  const auto tls = impl.load_tls();
  {
    const std::lock_guard lock(state.mutex);
    state.tls_context = tls;
  }
  // EPIPE reports a client that has left; OpenSSL writes without MSG_NOSIGNAL, so SIGPIPE is ignored.
  std::signal(SIGPIPE, SIG_IGN);
  // Hitting the file size limit must fail the write, as a full disk does, and not kill the process.
  std::signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < state.options.threads; ++i) { impl.loops.push_back(std::make_shared<EventLoop>(impl.state)); }
  for (const std::string& address : state.options.listen) {
    impl.listeners.push_back(std::make_unique<Listener>(address, impl.state, impl.loops));
  }
  for (const auto& listener : impl.listeners) { listener->start(); }
  for (const auto& loop : impl.loops) { loop->start(); }
  impl.started = true;
}

std::vector<std::string> Server::addresses() const {
  std::vector<std::string> addresses;
  for (const auto& listener : impl_->listeners) { addresses.push_back(listener->address()); }
  return addresses;
}

std::size_t Server::connections() const { return impl_->state->connections; }

bool Server::stuck() const { return impl_->stuck; }

void Server::reload_tls() {
  const auto tls = impl_->load_tls();
  const std::lock_guard lock(impl_->state->mutex);
  impl_->state->tls_context = tls;
}

bool Server::stop(Duration grace) {
  Impl& impl = *impl_;
  if (!impl.started || std::exchange(impl.stopped, true)) { return true; }
  ServerState& state = *impl.state;
  state.draining = true;
  for (const auto& listener : impl.listeners) { listener->stop(); }
  for (const auto& loop : impl.loops) { loop->drain(); }
  const auto emptied = [&](auto within) {
    std::unique_lock lock(state.mutex);
    return state.emptied.wait_for(lock, within, [&] { return state.connections == 0; });
  };
  const bool finished = emptied(grace);
  bool empty = finished;
  if (!finished) {
    for (const auto& loop : impl.loops) { loop->close_all(); }
    empty = emptied(last_patience);
  }
  if (!empty) {
    // A store call has not returned, and will write its result to its fiber's stack: everything is leaked.
    static auto* const left = new std::vector<std::shared_ptr<Impl>>();  // NOLINT: lives as long as the process
    left->push_back(impl_);
    impl.stuck = true;
    return false;
  }
  impl.listeners.clear();
  for (const auto& loop : impl.loops) { loop->stop(); }
  return finished;
}

}  // namespace hapax::http
