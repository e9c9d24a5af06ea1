// Connection: one client's socket and the fiber that serves its requests one after the other.
//
// Lives on one event loop and is used by that thread alone; only the function that resumer() returns may be called by
// any thread. Every wait has a ticket, and each wakeup names the ticket of its wait: a wakeup that comes late, twice or
// for an earlier wait does nothing.
#pragma once

#include "base/fiber.hpp"
#include "http/call.hpp"
#include "http/event_loop.hpp"
#include "http/in_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace hapax::http {

// Result of reading or writing.
enum class Io : std::uint8_t {
  moved,
  ended,   // the client sends no more
  late,    // the deadline has passed
  broken,  // the connection is gone
};

// How fast bytes move, measured only while the server waits for the client. Too slow: below 1 KiB/s over stall_time.
struct Pace {
  Clock::duration waited{0};
  std::size_t bytes = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(EventLoop& loop, Socket socket, AcceptedFrom accepted_from);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // ---- The loop's side -------------------------------------------------------------------------------------------
  void start();
  void check_deadlines(Clock::time_point now);  // ends the read or write whose deadline has passed
  void drain();
  void shut_down();  // shuts the socket down, so that waits on it fail
  // Resumes the fiber if it is still in the wait with this ticket.
  void wake(std::uint64_t ticket);

  // ---- The fiber's side ------------------------------------------------------------------------------------------
  [[nodiscard]] EventLoop& loop() { return loop_; }
  [[nodiscard]] ServerState& state() { return loop_.state(); }
  [[nodiscard]] const AcceptedFrom& accepted_from() const { return accepted_from_; }
  [[nodiscard]] bool encrypted() const { return tls_ != nullptr; }
  [[nodiscard]] InBuffer& in() { return in_; }
  [[nodiscard]] Request& request() { return request_; }
  [[nodiscard]] bool draining() const { return loop_.state().draining; }

  // Waits for the client's next bytes and puts them into in(), at most `room` bytes.
  [[nodiscard]] Io fill(std::size_t room, Clock::time_point deadline);
  // As fill() with a deadline, but with a minimum pace; returns `late` when the client is too slow.
  [[nodiscard]] Io fill(std::size_t room, Pace& pace);
  // Sends all bytes. Returns false when the client is gone, or takes the bytes too slowly.
  [[nodiscard]] bool send(std::string_view bytes);

  // Calls start(resume) and waits until resume() was called, by any thread.
  void suspend(const std::function<void(std::function<void()>)>& start);
  // `signal` may be null.
  [[nodiscard]] Woke wait(Signal* signal, Duration at_most);
  // Idle: waiting for a request's first byte. Draining ends an idle connection.
  void set_idle(bool idle) { idle_ = idle; }

  // Whether the client has closed the connection, or its sending side: such a client does not wait for an answer.
  [[nodiscard]] bool client_gone();

 private:
  using Ticket = std::uint64_t;

  void serve();
  [[nodiscard]] bool handshake();
  void close();
  void woke(Ticket ticket, Woke why);
  void watch_client(Ticket ticket);
  void watch_later(Ticket ticket);
  [[nodiscard]] std::function<void()> resumer(Ticket ticket);

  [[nodiscard]] Io ready(Socket::wait_type what, Clock::time_point deadline);
  [[nodiscard]] Io read_some(char* to, std::size_t bytes, Clock::time_point deadline, std::size_t& moved);
  [[nodiscard]] Io write_some(std::string_view bytes, Clock::time_point deadline, std::size_t& moved);
  [[nodiscard]] Io outcome() const;
  [[nodiscard]] bool fast_enough(Pace& pace) const;

  EventLoop& loop_;
  Socket socket_;
  AcceptedFrom accepted_from_;
  std::shared_ptr<const ServerTlsContext> tls_context_;
  TlsSession tls_;
  Timer timer_;
  Timer watch_timer_;
  InBuffer in_;
  Request request_;

  Ticket ticket_ = 0;
  boost::system::error_code io_error_;
  std::size_t io_bytes_ = 0;
  Woke why_ = Woke::time_over;
  bool waiting_ = false;  // in wait()
  bool idle_ = false;
  bool late_ = false;
  bool is_shut_down_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  base::Fiber fiber_;  // last: destroyed before the members that its frames use
};

}  // namespace hapax::http
