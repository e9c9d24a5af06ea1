// ServerCall: one request on a connection, from its first byte to the last of its answer.
// server_call_body.cpp reads the request's body, server_call_answer.cpp waits and answers.
#pragma once

#include "http/body_decoder.hpp"
#include "http/call.hpp"
#include "http/connection.hpp"
#include "http/observer.hpp"
#include "http/problem_answer.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace hapax::http {

// Lives on the connection's fiber while that request runs.
class ServerCall final : public Call {
 public:
  explicit ServerCall(Connection& connection);
  // False: the connection ends after this request.
  [[nodiscard]] bool run();

  void recheck_access() override;
  [[nodiscard]] const std::string& body() override;
  [[nodiscard]] LineRead next_line(std::string& line) override;
  [[nodiscard]] Woke wait_on(Signal& signal, Duration at_most) override;
  [[nodiscard]] Woke pause(Duration at_most) override;
  [[nodiscard]] bool draining() const override { return connection_.draining(); }
  void begin_stream(Response head) override;
  [[nodiscard]] bool write(std::string_view piece) override;

 protected:
  void run_blocking(const std::function<void()>& fn) override;
  void suspend(const std::function<void(std::function<void()>)>& start) override;

 private:
  // False: the client has left, so there is nothing to answer.
  [[nodiscard]] bool read_head();
  [[nodiscard]] Response dispatch();
  [[nodiscard]] Principal authenticate();
  void check_scope(const Principal& principal) const;
  [[nodiscard]] Response options() const;
  void check_host() const;
  void check_origin() const;
  void check_key() const;
  void check_body() const;
  [[nodiscard]] std::string_view next_piece();
  void expect_body();
  void count_body(std::size_t bytes);
  [[nodiscard]] std::size_t body_limit() const;
  [[nodiscard]] std::size_t line_limit() const;

  [[nodiscard]] bool finish(const Response& response);
  void take_back(const Response& response);
  void append_head(std::string& out, const Response& response, bool streaming);
  [[nodiscard]] bool can_skip_body() const;
  [[nodiscard]] bool skip_body();
  void tell(int status);

  Connection& connection_;
  ServerState& state_;
  Clock::time_point begun_{};
  const Route* route_ = nullptr;
  bool let_in_ = false;
  bool head_read_ = false;
  bool keep_ = false;       // keep the connection for the next request
  bool continue_ = false;   // the client waits for status 100 before it sends its body
  bool streaming_ = false;  // the head has been sent
  bool chunked_ = false;    // the stream is sent in chunks
  bool broken_ = false;     // the client is gone
  std::string error_;       // the problem's name
  Framing framing_;
  BodyDecoder decoder_{Framing{}};
  Pace pace_;
  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_out_ = 0;
  int stream_status_ = 0;
  bool body_read_ = false;
  std::string body_;
  std::string rest_;         // of next_line(): bytes after the last line
  std::size_t rest_at_ = 0;  // bytes before this position are used
};

}  // namespace hapax::http
