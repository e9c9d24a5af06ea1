// Observer: records each finished request: a log line, a count and the duration.
//
// Never records a target, query, header, body or token: those may hold secrets.
#pragma once

#include "http/metrics.hpp"
#include "http/router.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace hapax::http {

struct Observation {
  std::string_view method;
  const Route* route = nullptr;  // null: no route matched
  int status = 0;
  std::chrono::steady_clock::duration took{};
  std::uint64_t bytes_in = 0;  // bytes of the body
  std::uint64_t bytes_out = 0;
  std::string_view peer;
  const Principal* principal = nullptr;  // null: the request was not authenticated
  std::string_view error;                // the problem's name, if the answer is one
  std::string_view trace;                // traceparent
};

// One per server; any thread may call it.
class Observer {
 public:
  Observer(Metrics& metrics, const Router& router, std::function<void(std::string_view)> log);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  void tell(const Observation& observation);
  // A handler threw an exception that is a defect.
  void record_defect(const Route* route, std::string_view defect);

  Gauge& connections;
  Counter& accepted;
  Counter& refused;  // more connections than the limit
  Counter& dropped;  // ended by a timer: too slow, or idle

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
  std::map<const Route*, std::unique_ptr<OfRoute>> routes_;  // null: requests without a route
};

}  // namespace hapax::http
