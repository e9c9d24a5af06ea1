// Observer: what is told of each request when it is over: a line of the log, a count and how long it took (SPEC §13).
//
// Never a target, query, header, body or token: those may hold secrets (SPEC X6).
#pragma once

#include "server/metrics.hpp"
#include "server/router.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace hapax::server {

struct Observation {
  std::string_view method;
  const Route* route = nullptr;  // null: none was found
  int status = 0;
  std::chrono::steady_clock::duration took{};
  std::uint64_t bytes_in = 0;  // of the body
  std::uint64_t bytes_out = 0;
  std::string_view peer;
  const Principal* principal = nullptr;  // null: nobody was let in
  std::string_view error;                // the problem's name, if there is one
  std::string_view trace;                // traceparent
};

// One for the server; any thread may tell.
class Observer {
 public:
  Observer(Metrics& metrics, const Router& router, std::function<void(std::string_view)> log);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  void tell(const Observation& observation);
  // A handler threw what it should not have.
  void tell_defect(const Route* route, std::string_view defect);

  Gauge& connections;
  Counter& accepted;
  Counter& refused;  // for too many connections
  Counter& dropped;  // by a timer: too slow, or idle

 private:
  static constexpr std::size_t statuses = 600;
  struct OfRoute {
    Histogram* took = nullptr;
    std::string log_member;  // ,"route":"/v1/…"
    std::array<std::atomic<Counter*>, statuses> by_status{};
  };
  [[nodiscard]] std::unique_ptr<OfRoute> make(const Route* route);

  Metrics& metrics_;
  std::function<void(std::string_view)> log_;
  std::map<const Route*, std::unique_ptr<OfRoute>> routes_;  // null: requests that found none
};

}  // namespace hapax::server
