// LoopbackListener: answers GET /metrics on a loopback address, and nothing else.
//
// One thread, a few connections at a time, one request each. A connection that sends too much or too slowly is closed.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace hapax::telemetry {

inline constexpr std::size_t listener_connections = 16;      // more wait in the system's backlog
inline constexpr std::size_t listener_head_bytes = 8 << 10;  // of a request
inline constexpr std::chrono::seconds listener_patience{5};  // for a request to come, and for its answer to go

class LoopbackListener {
 public:
  // Listens at ADDRESS:PORT. `text` is called on the listener's thread, for each request. Throws InvalidArgument and
  // ConfigurationError.
  LoopbackListener(std::string_view address, std::function<std::string()> text);
  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;
  // Ends the thread; a call of `text` is waited for.
  ~LoopbackListener();

  [[nodiscard]] const std::string& address() const { return address_; }

  // The answer to a request's head, up to and with its empty line. For tests.
  [[nodiscard]] static std::string answer(std::string_view head, const std::function<std::string()>& text);

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    int socket = -1;
    std::string in;
    std::string out;  // empty until the request is whole
    Clock::time_point until;
  };

  void loop();
  void accept_one();
  // Returns false when the connection is over.
  [[nodiscard]] bool serve(Connection& connection) const;

  std::string address_;
  const std::function<std::string()> text_;
  int socket_ = -1;
  int stop_ = -1;  // an eventfd
  std::vector<Connection> connections_;
  std::thread thread_;
};

}  // namespace hapax::telemetry
