// Server: HTTP/1.1 in front of a router.
//
// Owns its threads: event loops, each of which runs its connections on fibers for their whole life, and store threads
// for blocking work (Call::blocking). One thread makes, starts and stops the server; addresses() and connections() are
// for any thread.
//
// Refuses ambiguous requests (two lengths, bare line feeds, folded headers: docs/decisions/0027), and never allocates
// by a length that a client announces. A slow or idle client costs a timer and a small stack, and loses its connection
// when its time runs out.
#pragma once

#include <hapax/time.hpp>

#include "http/metrics.hpp"
#include "http/principal.hpp"
#include "http/router.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::http {

struct ServerOptions {
  std::vector<std::string> listen = {"127.0.0.1:7171"};  // "127.0.0.1:0" takes a free port; "[::1]:7171"
  std::vector<std::string> hosts;    // names that a Host header may have on a loopback listener, besides localhost
  int threads = 0;                   // event loops; 0: one per processor, at most 4
  int store_threads = 0;             // for blocking work; 0: 16
  std::size_t connections = 10'000;  // at once; any further one is answered 503
  std::string tls_certificate;       // PEM files; both or neither
  std::string tls_key;
  Duration header_time = std::chrono::seconds(10);  // from a request's first byte to the end of its head
  Duration idle_time = std::chrono::seconds(75);    // between requests
  Duration stall_time = std::chrono::seconds(10);   // a body or answer slower than 1 KiB/s over this time is dropped
  // One line per request, as JSON; called by the event loops.
  std::function<void(std::string_view line)> log;
};

class Server {
 public:
  // `metrics` outlives the server.
  Server(ServerOptions options, Router router, std::shared_ptr<Authenticator> authenticator, Metrics& metrics);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // stops without grace

  // Listens, then returns. Throws ConfigurationError for an address that is invalid, taken, or not loopback while there
  // are no tokens, and for an unusable certificate.
  void start();
  [[nodiscard]] std::vector<std::string> addresses() const;  // as bound: "127.0.0.1:40123"
  [[nodiscard]] std::size_t connections() const;
  // Accepts no more connections, ends waits and streams, lets running requests finish within `grace`, then closes.
  // True: all requests finished. A store call that does not return within 5 s after that is left behind with its
  // threads: the process must then exit without destroying what handlers use.
  bool stop(Duration grace);
  // Whether stop() left a store call behind.
  [[nodiscard]] bool stuck() const;
  // Reads the certificate and key again, for new connections. Throws ConfigurationError and keeps the old ones.
  void reload_tls();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace hapax::http
