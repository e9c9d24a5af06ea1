// Server: HTTP/1.1 in front of a router.
//
// Owns its threads: event loops, on which every connection has a fiber of its own and stays for life, and store threads for
// what blocks (Call::blocking). Made, started and stopped by one thread; address(), connections() by any.
//
// It refuses what it cannot tell apart for certain (two lengths, bare line feeds, folded headers: docs/decisions/0027), and
// never reserves memory by what a client claims. A slow or idle client costs a timer and a small stack, and loses its
// connection when its time is over.
#pragma once

#include <hapax/time.hpp>

#include "server/metrics.hpp"
#include "server/principal.hpp"
#include "server/router.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::server {

struct ServerOptions {
  std::vector<std::string> listen = {"127.0.0.1:7171"};  // "127.0.0.1:0" takes a free port; "[::1]:7171"
  std::vector<std::string> hosts;    // names that a Host header may have on a loopback listener, beside localhost
  int threads = 0;                   // event loops; 0: as many as the machine has processors, at most 4
  int store_threads = 0;             // for what blocks; 0: 16
  std::size_t connections = 10'000;  // at once; more are answered 503
  std::string tls_certificate;       // PEM files; both or none
  std::string tls_key;
  Duration header_time = std::chrono::seconds(10);  // from a request's first byte to the end of its head
  Duration idle_time = std::chrono::seconds(75);    // between requests
  Duration stall_time = std::chrono::seconds(10);   // a body or an answer that moves by less than 1 KiB/s over this
  // One line a request, as JSON; called by the event loops.
  std::function<void(std::string_view line)> log;
};

class Server {
 public:
  // `metrics` outlives the server.
  Server(ServerOptions options, Router router, std::shared_ptr<Authenticator> authenticator, Metrics& metrics);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // stops without grace

  // Listens, then returns. Throws ConfigurationError for an address that is none, that is not loopback while there are no
  // tokens (SPEC X1), or that is taken, and for a certificate that cannot be used.
  void start();
  [[nodiscard]] std::vector<std::string> addresses() const;  // as bound: "127.0.0.1:40123"
  [[nodiscard]] std::size_t connections() const;
  // Takes no more connections, ends waits and streams, lets requests that run finish within `grace`, then closes. True: all
  // were finished. A store call that does not return for seconds after that is left behind with its threads: then the
  // process must end without destroying what handlers use.
  bool stop(Duration grace);
  // After stop(): a store call was left behind.
  [[nodiscard]] bool stuck() const;
  // Reads the certificate and key again; new connections get them. Throws ConfigurationError and keeps the old ones.
  void reload_tls();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace hapax::server
