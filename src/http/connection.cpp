#include "http/connection.hpp"

#include "http/limits.hpp"
#include "http/server_call.hpp"

#include <boost/asio/buffer.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace hapax::http {

namespace {

using boost::system::error_code;

constexpr std::chrono::seconds watch_interval{1};
constexpr std::chrono::seconds linger_time{2};
constexpr std::size_t linger_bytes = 256 << 10;
constexpr std::size_t read_at_once = 64 << 10;
constexpr Clock::time_point never = Clock::time_point::max();

std::string peer_text(const Socket& socket) {
  error_code error;
  const auto peer = socket.remote_endpoint(error);
  if (error) { return "unknown"; }
  const std::string address = peer.address().to_string();
  return (peer.address().is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(peer.port());
}

}  // namespace

Connection::Connection(EventLoop& loop, Socket socket, AcceptedFrom accepted_from)
    : loop_(loop),
      socket_(std::move(socket)),
      accepted_from_(accepted_from),
      timer_(loop.io()),
      watch_timer_(loop.io()),
      fiber_(loop.stacks(), [this] { serve(); }) {
  error_code ignored;
  socket_.native_non_blocking(true, ignored);
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  request_.peer = peer_text(socket_);
}

// ---- The loop's side -----------------------------------------------------------------------------------------------

void Connection::start() { wake(ticket_); }

void Connection::wake(Ticket ticket) {
  if (ticket != ticket_) { return; }
  ++ticket_;
  const std::shared_ptr<Connection> self = shared_from_this();
  fiber_.resume("a request over HTTP");
  if (fiber_.done()) { loop_.remove(*this); }
}

void Connection::check_deadlines(Clock::time_point now) {
  if (now < deadline_) { return; }
  deadline_ = never;
  late_ = true;
  error_code ignored;
  socket_.cancel(ignored);
}

void Connection::drain() {
  if (waiting_) {
    woke(ticket_, Woke::draining);
  } else if (idle_) {
    shut_down();
  }
}

void Connection::shut_down() {
  is_shut_down_ = true;
  error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.cancel(ignored);
  if (waiting_) { woke(ticket_, Woke::client_gone); }
}

// ---- Waiting -------------------------------------------------------------------------------------------------------

std::function<void()> Connection::resumer(Ticket ticket) {
  // The caller may keep this function longer than the server lives, so it owns only the list that it adds to.
  return [wakeups = loop_.wakeups(), weak = weak_from_this(), ticket] { wakeups->add({weak, ticket}); };
}

void Connection::suspend(const std::function<void(std::function<void()>)>& start) {
  const Ticket ticket = ++ticket_;
  start(resumer(ticket));
  fiber_.suspend();
}

void Connection::woke(Ticket ticket, Woke why) {
  if (ticket != ticket_) { return; }
  why_ = why;
  wake(ticket);
}

Woke Connection::wait(Signal* signal, Duration at_most) {
  if (is_shut_down_) { return Woke::client_gone; }
  if (draining()) { return Woke::draining; }
  const Ticket ticket = ++ticket_;
  why_ = Woke::raised;
  if (signal != nullptr && signal->taken_or_then(resumer(ticket))) { return Woke::raised; }
  timer_.expires_after(at_most);
  timer_.async_wait([self = shared_from_this(), ticket](const error_code& error) {
    if (!error) { self->woke(ticket, Woke::time_over); }
  });
  watch_client(ticket);
  waiting_ = true;
  fiber_.suspend();
  waiting_ = false;
  const Woke why = why_;
  timer_.cancel();
  watch_timer_.cancel();
  error_code ignored;
  socket_.cancel(ignored);
  // When the signal is raised as the time runs out, the signal wins: it would be lost otherwise.
  const bool raised = signal != nullptr && signal->take_back();
  return raised && why == Woke::time_over ? Woke::raised : why;
}

void Connection::watch_client(Ticket ticket) {
  socket_.async_wait(Socket::wait_read, [self = shared_from_this(), ticket](const error_code& error) {
    if (error || ticket != self->ticket_) { return; }
    if (self->client_gone()) {
      self->woke(ticket, Woke::client_gone);
    } else {
      // Unread bytes, perhaps the next request, keep the socket readable, so from now on a timer polls it.
      self->watch_later(ticket);
    }
  });
}

void Connection::watch_later(Ticket ticket) {
  watch_timer_.expires_after(watch_interval);
  watch_timer_.async_wait([self = shared_from_this(), ticket](const error_code& error) {
    if (error || ticket != self->ticket_) { return; }
    if (self->client_gone()) {
      self->woke(ticket, Woke::client_gone);
    } else {
      self->watch_later(ticket);
    }
  });
}

bool Connection::client_gone() {
  pollfd state{.fd = socket_.native_handle(), .events = POLLIN | POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// ---- Reading and writing -------------------------------------------------------------------------------------------

Io Connection::outcome() const {
  if (!io_error_) { return Io::moved; }
  if (late_) { return Io::late; }
  return io_error_ == boost::asio::error::eof ? Io::ended : Io::broken;
}

Io Connection::ready(Socket::wait_type what, Clock::time_point deadline) {
  if (is_shut_down_) { return Io::broken; }
  const Ticket ticket = ++ticket_;
  deadline_ = deadline;
  late_ = false;
  socket_.async_wait(what, [self = shared_from_this(), ticket](const error_code& error) {
    if (ticket != self->ticket_) { return; }
    self->io_error_ = error;
    self->wake(ticket);
  });
  fiber_.suspend();
  deadline_ = never;
  return outcome();
}

Io Connection::read_some(char* to, std::size_t bytes, Clock::time_point deadline, std::size_t& moved) {
  while (tls_) {
    const ServerTlsStep step = tls_read(*tls_, to, bytes);
    moved = step.bytes;
    switch (step.wants) {
      case TlsWants::nothing: return Io::moved;
      case TlsWants::closed: return Io::ended;
      case TlsWants::broken: return Io::broken;
      case TlsWants::readable:
      case TlsWants::writable: break;
    }
    const Io io = ready(step.wants == TlsWants::readable ? Socket::wait_read : Socket::wait_write, deadline);
    if (io != Io::moved) { return io; }
  }
  if (is_shut_down_) { return Io::broken; }
  const Ticket ticket = ++ticket_;
  deadline_ = deadline;
  late_ = false;
  socket_.async_receive(boost::asio::buffer(to, bytes),
                        [self = shared_from_this(), ticket](const error_code& error, std::size_t received) {
                          self->io_error_ = error;
                          self->io_bytes_ = received;
                          self->wake(ticket);
                        });
  fiber_.suspend();
  deadline_ = never;
  moved = io_bytes_;
  return outcome();
}

Io Connection::write_some(std::string_view bytes, Clock::time_point deadline, std::size_t& moved) {
  while (true) {
    if (is_shut_down_) { return Io::broken; }
    Socket::wait_type what = Socket::wait_write;
    if (tls_) {
      const ServerTlsStep step = tls_write(*tls_, bytes.data(), bytes.size());
      moved = step.bytes;
      if (step.wants == TlsWants::nothing) { return Io::moved; }
      if (step.wants == TlsWants::closed || step.wants == TlsWants::broken) { return Io::broken; }
      if (step.wants == TlsWants::readable) { what = Socket::wait_read; }
    } else {
      const ssize_t sent = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        moved = static_cast<std::size_t>(sent);
        return Io::moved;
      }
      if (errno == EINTR) { continue; }
      if (errno != EAGAIN && errno != EWOULDBLOCK) { return Io::broken; }
    }
    const Io io = ready(what, deadline);
    if (io != Io::moved) { return io; }
  }
}

Io Connection::fill(std::size_t room, Clock::time_point deadline) {
  std::size_t moved = 0;
  const std::size_t at_once = std::min(room, read_at_once);
  const Io io = read_some(in_.prepare(at_once), at_once, deadline, moved);
  if (io == Io::moved) { in_.commit(moved); }
  return io;
}

bool Connection::fast_enough(Pace& pace) const {
  if (pace.waited < loop_.state().options.stall_time) { return true; }
  const double seconds = std::chrono::duration<double>(pace.waited).count();
  if (static_cast<double>(pace.bytes) < static_cast<double>(limits::http_slowest) * seconds) { return false; }
  pace = {};
  return true;
}

Io Connection::fill(std::size_t room, Pace& pace) {
  while (true) {
    const Clock::time_point begun = Clock::now();
    const std::size_t before = in_.view().size();
    const Io io = fill(room, begun + (loop_.state().options.stall_time - pace.waited));
    pace.waited += Clock::now() - begun;
    pace.bytes += in_.view().size() - before;
    if (!fast_enough(pace)) { return Io::late; }
    if (io != Io::late) { return io; }
  }
}

bool Connection::send(std::string_view bytes) {
  Pace pace;
  while (!bytes.empty()) {
    const Clock::time_point begun = Clock::now();
    std::size_t moved = 0;
    const Io io = write_some(bytes, begun + (loop_.state().options.stall_time - pace.waited), moved);
    if (io == Io::moved) {
      bytes.remove_prefix(moved);
      if (bytes.empty()) { return true; }
    }
    pace.waited += Clock::now() - begun;
    pace.bytes += moved;
    if (io == Io::broken || io == Io::ended) { return false; }
    if (!fast_enough(pace)) {
      loop_.state().observer.dropped.add();
      return false;
    }
  }
  return true;
}

// ---- The fiber -----------------------------------------------------------------------------------------------------

bool Connection::handshake() {
  tls_context_ = state().tls();
  if (!tls_context_) { return true; }
  tls_ = make_tls_session(*tls_context_, socket_.native_handle());
  if (!tls_) { return false; }
  const Clock::time_point deadline = Clock::now() + state().options.header_time;
  while (true) {
    const ServerTlsStep step = tls_accept(*tls_);
    if (step.wants == TlsWants::nothing) { return true; }
    if (step.wants == TlsWants::closed || step.wants == TlsWants::broken) { break; }
    const Io io = ready(step.wants == TlsWants::readable ? Socket::wait_read : Socket::wait_write, deadline);
    if (io != Io::moved) { break; }
  }
  // The client cannot be sent an error.
  tls_.reset();
  is_shut_down_ = true;
  return false;
}

void Connection::serve() {
  try {
    if (!draining() && handshake()) {
      bool more = true;
      while (more) { more = ServerCall(*this).run(); }
    }
    close();
  } catch (...) {
    // Out of memory: this connection is closed, the others go on.
  }
  is_shut_down_ = true;
  error_code ignored;
  socket_.close(ignored);
}

// Closing a socket with unread bytes resets the connection, and the client may never see the answer. So close() ends
// the sending side first and then reads up to 256 KiB for up to 2 s.
void Connection::close() {
  if (is_shut_down_) { return; }
  if (tls_) { tls_close(*tls_); }
  error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  if (error) { return; }
  const Clock::time_point deadline = Clock::now() + linger_time;
  tls_.reset();
  std::size_t skipped = 0;
  while (skipped < linger_bytes) {
    in_.consume(in_.view().size());
    if (fill(4 << 10, deadline) != Io::moved) { return; }
    skipped += in_.view().size();
  }
}

}  // namespace hapax::http
