// Connection: one client's socket and the fiber that serves it, request after request.
//
// Lives on one event loop and is used by that thread alone, but for what resumer() returns. Every wait has a ticket: whatever
// wakes the fiber names the wait that it means, so that what comes late, twice or for an earlier wait does nothing.
#pragma once

#include "server/call.hpp"
#include "server/event_loop.hpp"
#include "server/in_buffer.hpp"
#include "workflow/fiber.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace hapax::server {

// How reading or writing went.
enum class Io : std::uint8_t {
  moved,
  ended,   // the client sends no more
  late,    // its time was over
  broken,  // the connection is gone
};

// How fast bytes go, measured while we wait for them only. Below 1 KiB/s over stall_time: too slow.
struct Pace {
  Clock::duration waited{0};
  std::size_t bytes = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(EventLoop& loop, Socket socket, Door door);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // ---- The loop's side -------------------------------------------------------------------------------------------
  void start();
  void look(Clock::time_point now);  // at its deadline
  void drain();
  void doom();  // the socket is closed; what waits on it fails
  // Goes on if it is still in that wait.
  void wake(std::uint64_t ticket);

  // ---- The fiber's side ------------------------------------------------------------------------------------------
  [[nodiscard]] EventLoop& loop() { return loop_; }
  [[nodiscard]] ServerState& state() { return loop_.state(); }
  [[nodiscard]] const Door& door() const { return door_; }
  [[nodiscard]] bool encrypted() const { return tls_ != nullptr; }
  [[nodiscard]] InBuffer& in() { return in_; }
  [[nodiscard]] Request& request() { return request_; }
  [[nodiscard]] bool draining() const { return loop_.state().draining; }

  // Waits for the client's next bytes, which then are in in(). `room`: at most so many at once.
  [[nodiscard]] Io fill(std::size_t room, Clock::time_point deadline);
  // The same at a pace; `late` when it is too slow.
  [[nodiscard]] Io fill(std::size_t room, Pace& pace);
  // Sends all of it. False: the client is gone, or takes it too slowly.
  [[nodiscard]] bool send(std::string_view bytes);

  // Calls start(resume) and waits until resume() was called, by any thread.
  void suspend(const std::function<void(std::function<void()>)>& start);
  // `signal` may be null.
  [[nodiscard]] Woke wait(Signal* signal, Duration at_most);
  // While it waits for a request's first byte, draining ends the connection.
  void set_idle(bool idle) { idle_ = idle; }

  // Whether the client has closed, or its side at least: it is not taken to wait for anything.
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
  Door door_;
  std::shared_ptr<const TlsContext> tls_context_;
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
  bool doomed_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  workflow::Fiber fiber_;  // last: it ends before what its frames use
};

}  // namespace hapax::server
